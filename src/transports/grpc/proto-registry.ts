import { createFileRegistry, type DescMessage, type DescMethod, type DescService, fromBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { descriptors } from './descriptors.ts'

/** The names are ours: one that is missing is a mistake of ours. */
export function messageNamed(name: string): DescMessage {
  return known(registry.getMessage(name), name)
}

export function serviceNamed(name: string): DescService {
  return known(registry.getService(name), name)
}

export function methodNamed(service: DescService, name: string): DescMethod {
  const method = service.methods.find((each) => each.name === name)
  return known(method, `${service.typeName}/${name}`)
}

/** The `:path` of a call. */
export function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`
}

/** Every message and service of the files in `proto/`. */
export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, base64Decode(descriptors)))

function known<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`there is no ${name} in proto/`)
  return found
}
