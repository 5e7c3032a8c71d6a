import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compileDescriptors, currentDescriptors } from '../../../../scripts/build-descriptors.ts'
import { serverDialects } from '../../dialects/server-dialects.ts'
import { serviceNamed } from './proto-registry.ts'

const hasCompiler = existsSync(new URL('../../../../node_modules/.bin/buf', import.meta.url))

test.skipIf(!hasCompiler)('descriptors.ts is up to date with proto/', async () => {
  // If this fails, run: node scripts/build-descriptors.ts
  expect(await currentDescriptors()).toBe(await compileDescriptors())
})

const grpcDialects = serverDialects({}).flatMap(({ name, methods, grpc }) => (grpc ? [{ name, methods, grpc }] : []))

test.each(grpcDialects)('$name answers every method of its gRPC service', ({ methods, grpc }) => {
  const described = serviceNamed(grpc.service).methods.map((method) => method.name)
  expect(described.toSorted()).toEqual(Object.values(methods).toSorted())
})
