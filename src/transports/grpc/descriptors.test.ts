import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compileDescriptors, currentDescriptors } from '../../../scripts/build-descriptors.ts'
import { serverDialects } from '../../dialects/server-dialects.ts'
import { serviceNamed } from './proto-registry.ts'
import { a2aServices } from './services.ts'

const hasCompiler = existsSync(new URL('../../../node_modules/.bin/buf', import.meta.url))

test.skipIf(!hasCompiler)('the descriptors are those of proto/', async () => {
  // Otherwise: node scripts/build-descriptors.ts
  expect(await currentDescriptors()).toBe(await compileDescriptors())
})

test.each(a2aServices)('every method of $name is answered', ({ name, dialect }) => {
  const spoken = serverDialects({}).find((each) => each.name === dialect)
  const described = serviceNamed(name).methods.map((method) => method.name)
  expect(described.toSorted()).toEqual(Object.values(spoken?.methods ?? {}).toSorted())
})
