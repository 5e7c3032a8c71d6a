import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { expect, it } from 'vitest'
import { outputs } from '../../schemas/build/build.ts'
import { meshSchemas, versions } from '../../schemas/build/mesh-schemas.ts'
import { schemaById } from '../../schemas/typescript/index.ts'

it.each([...outputs()])('%s is up to date with its source', (path, text) => {
  expect(readFileSync(new URL(`../../schemas/${path}`, import.meta.url), 'utf8')).toBe(text)
})

it.each(versions)('version %s compiles in strict mode with AJV', (version) => {
  const ajv = new Ajv({ strict: true, validateFormats: false })
  const schemas = [...meshSchemas(version).values()]
  for (const schema of schemas) ajv.addSchema(schema)
  for (const { $id } of schemas) expect(ajv.getSchema(String($id))).toBeTypeOf('function')
})

it('every schema has a stable id and is also found by its old one', () => {
  for (const version of versions) {
    for (const name of meshSchemas(version).keys()) {
      const id = `https://parley.dev/schemas/v${version}/${name}`
      expect(schemaById(id)).toMatchObject({ $id: id })
      expect(schemaById(id.replace('parley.dev', 'a2a-protocol.org'))).toBe(schemaById(id))
    }
  }
})
