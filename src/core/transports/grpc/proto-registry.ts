import { createFileRegistry, type DescMessage, type DescMethod, type DescService, fromBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { descriptors } from './descriptors.ts'

/** Throws if `proto/` has no such message: the name is a constant in our own code. */
export function messageNamed(name: string): DescMessage {
  return required(registry.getMessage(name), name)
}

export function serviceNamed(name: string): DescService {
  return required(registry.getService(name), name)
}

export function methodNamed(service: DescService, name: string): DescMethod {
  const method = service.methods.find((candidate) => candidate.name === name)
  return required(method, `${service.typeName}/${name}`)
}

/** The `:path` of a call to this method. */
export function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`
}

/** Every message and service of the files in `proto/`. */
export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, base64Decode(descriptors)))

function required<T>(descriptor: T | undefined, name: string): T {
  if (descriptor === undefined) throw new Error(`there is no ${name} in proto/`)
  return descriptor
}
