import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compileDescriptors, currentDescriptors } from '../../../../scripts/build-descriptors.ts'
import { serverDialects } from '../../dialects/server-dialects.ts'
import { serviceNamed } from './proto-registry.ts'
import { a2aServices } from './services.ts'

const hasCompiler = existsSync(new URL('../../../../node_modules/.bin/buf', import.meta.url))

test.skipIf(!hasCompiler)('descriptors.ts is up to date with proto/', async () => {
  // If this fails, run: node scripts/build-descriptors.ts
  expect(await currentDescriptors()).toBe(await compileDescriptors())
})

test.each(a2aServices)('the dialect answers every method of $name', ({ name, dialect }) => {
  const server = serverDialects({}).find((candidate) => candidate.name === dialect)
  const methods = serviceNamed(name).methods.map((method) => method.name)
  expect(methods.toSorted()).toEqual(Object.values(server?.methods ?? {}).toSorted())
})
