import { createFileRegistry, type DescMethod, type DescService, fromBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { descriptors } from './descriptors.ts'

/** Every message and service of the files in `proto/`. */
export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, base64Decode(descriptors)))

/** The services are ours, so that one which is missing is a mistake of ours. */
export function serviceNamed(name: string): DescService {
  const service = registry.getService(name)
  if (service === undefined) throw new Error(`there is no service ${name} in proto/`)
  return service
}

export function methodNamed(service: DescService, name: string): DescMethod {
  const method = service.methods.find((each) => each.name === name)
  if (method === undefined) throw new Error(`there is no rpc ${name} in ${service.typeName}`)
  return method
}

/** The `:path` of a call. */
export function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`
}
