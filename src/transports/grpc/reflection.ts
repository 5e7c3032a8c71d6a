import { type DescFile, toBinary } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type { JsonObject } from '../../base/json.ts'
import { methodNamed, registry, serviceNamed } from './proto-registry.ts'
import type { Rpc } from './rpc.ts'
import { type ErrorEncoder, statusCodes } from './status.ts'

/** Tells tools such as grpcurl what is spoken here. Both versions are the same but for their name. */
export function reflectionRpcs(encodeError: ErrorEncoder, services: readonly string[]): readonly Rpc[] {
  return reflectionServices.map((name) => ({
    type: 'conversation',
    method: methodNamed(serviceNamed(name), 'ServerReflectionInfo'),
    encodeError,
    async *answer(questions) {
      for await (const question of questions as AsyncIterable<Question & JsonObject>) {
        const answer = answerTo(question, services)
        yield { json: { validHost: question.host ?? '', originalRequest: question, ...answer } }
      }
    },
  }))
}

export const reflectionServices = [
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
] as const

/** What a caller asks for is there, and the others are not. */
interface Question {
  readonly fileByFilename?: string
  readonly fileContainingSymbol?: string
  readonly allExtensionNumbersOfType?: string
  readonly listServices?: string
}

function answerTo(question: Question, services: readonly string[]): JsonObject {
  const { fileByFilename, fileContainingSymbol, allExtensionNumbersOfType, listServices } = question
  if (listServices !== undefined) return { listServicesResponse: { service: services.map((name) => ({ name })) } }
  if (fileByFilename !== undefined) return filesAnswer(fileNamed(fileByFilename), fileByFilename)
  if (fileContainingSymbol !== undefined) return filesAnswer(fileOf(fileContainingSymbol), fileContainingSymbol)
  // There are no extensions in proto3.
  const base = allExtensionNumbersOfType
  if (base !== undefined && registry.getMessage(base)) return { allExtensionNumbersResponse: { baseTypeName: base } }
  return notFound(base ?? 'an extension')
}

function filesAnswer(file: DescFile | undefined, asked: string): JsonObject {
  if (file === undefined) return notFound(asked)
  const files = [...withImports(file)].map(({ proto }) => base64Encode(toBinary(FileDescriptorProtoSchema, proto)))
  return { fileDescriptorResponse: { fileDescriptorProto: files } }
}

function notFound(asked: string): JsonObject {
  return { errorResponse: { errorCode: statusCodes.NOT_FOUND, errorMessage: `There is no ${asked} here.` } }
}

function withImports(file: DescFile): ReadonlySet<DescFile> {
  const files = new Set([file])
  // Those which are added on the way are visited, too.
  for (const each of files) for (const imported of each.dependencies) files.add(imported)
  return files
}

function fileNamed(name: string): DescFile | undefined {
  return [...registry.files].find(({ proto }) => proto.name === name)
}

/** Of a message, an enum or a service; or of a member of one, such as a method. */
function fileOf(symbol: string): DescFile | undefined {
  const found = registry.get(symbol) ?? registry.get(symbol.slice(0, symbol.lastIndexOf('.')))
  return found?.file
}
