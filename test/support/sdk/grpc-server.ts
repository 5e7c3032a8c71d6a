import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'

/** A server of grpc-js on a port of this machine, gone after the test; gives what clients dial. */
export async function startSdkGrpcServer(
  service: ServiceDefinition,
  implement: (address: string) => UntypedServiceImplementation,
): Promise<string> {
  const server = new Server()
  onTestFinished(() => server.forceShutdown())
  // What is behind it must know the port, so it comes first.
  let implementation: UntypedServiceImplementation = {}
  const late = Object.fromEntries(
    Object.keys(service).map((name) => [name, (...call: unknown[]) => callOf(implementation[name])(...call)]),
  )
  server.addService(service, late as UntypedServiceImplementation)
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    )
  })
  const address = `127.0.0.1:${port}`
  implementation = implement(address)
  return address
}

function callOf(method: unknown): (...call: unknown[]) => unknown {
  if (typeof method !== 'function') throw new Error('the service has no such method')
  return method as (...call: unknown[]) => unknown
}
