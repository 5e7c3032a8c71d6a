import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'

/** Starts a grpc-js server on loopback and returns its address. Closed after the test. */
export async function startSdkGrpcServer(
  service: ServiceDefinition,
  implement: (address: string) => UntypedServiceImplementation,
): Promise<string> {
  const server = new Server()
  onTestFinished(() => server.forceShutdown())
  // It listens before the implementation exists, because cards contain the port.
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
