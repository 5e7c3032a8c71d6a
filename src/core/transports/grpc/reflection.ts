import { type DescFile, toBinary } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type { JsonObject } from '../../base/json.ts'
import { methodNamed, registry, serviceNamed } from './proto-registry.ts'
import type { Rpc } from './rpc.ts'
import { type ErrorEncoder, statusCodes } from './status.ts'

/** Both versions are identical except for their name. */
export const reflectionServices = [
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
] as const

/** gRPC server reflection: describes the services to tools such as grpcurl. */
export function reflectionRpcs(encodeError: ErrorEncoder, services: readonly string[]): readonly Rpc[] {
  return reflectionServices.map((name) => ({
    type: 'bidirectional',
    method: methodNamed(serviceNamed(name), 'ServerReflectionInfo'),
    encodeError,
    async *answer(requests) {
      for await (const request of requests as AsyncIterable<ReflectionRequest & JsonObject>) {
        const response = responseTo(request, services)
        yield { json: { validHost: request.host ?? '', originalRequest: request, ...response } }
      }
    },
  }))
}

/** One member is set: the question of the caller. */
interface ReflectionRequest {
  readonly fileByFilename?: string
  readonly fileContainingSymbol?: string
  readonly allExtensionNumbersOfType?: string
  readonly listServices?: string
}

function responseTo(request: ReflectionRequest, services: readonly string[]): JsonObject {
  const { fileByFilename, fileContainingSymbol, allExtensionNumbersOfType, listServices } = request
  if (listServices !== undefined) return { listServicesResponse: { service: services.map((name) => ({ name })) } }
  if (fileByFilename !== undefined) return filesResponse(fileNamed(fileByFilename), fileByFilename)
  if (fileContainingSymbol !== undefined) return filesResponse(fileOf(fileContainingSymbol), fileContainingSymbol)
  // proto3 has no extensions.
  const base = allExtensionNumbersOfType
  if (base !== undefined && registry.getMessage(base)) return { allExtensionNumbersResponse: { baseTypeName: base } }
  return notFound(base ?? 'an extension')
}

function filesResponse(file: DescFile | undefined, name: string): JsonObject {
  if (file === undefined) return notFound(name)
  const files = [...withImports(file)].map(({ proto }) => base64Encode(toBinary(FileDescriptorProtoSchema, proto)))
  return { fileDescriptorResponse: { fileDescriptorProto: files } }
}

function notFound(name: string): JsonObject {
  return { errorResponse: { errorCode: statusCodes.NOT_FOUND, errorMessage: `There is no ${name} here.` } }
}

function withImports(root: DescFile): ReadonlySet<DescFile> {
  const files = new Set([root])
  // Iterating over a set also visits the files added on the way.
  for (const file of files) for (const imported of file.dependencies) files.add(imported)
  return files
}

function fileNamed(name: string): DescFile | undefined {
  return [...registry.files].find(({ proto }) => proto.name === name)
}

/** Finds the file of a message, an enum or a service, or of a member of one, such as a method. */
function fileOf(symbol: string): DescFile | undefined {
  const descriptor = registry.get(symbol) ?? registry.get(symbol.slice(0, symbol.lastIndexOf('.')))
  return descriptor?.file
}
