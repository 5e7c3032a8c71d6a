import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, it } from 'vitest'
import { isSchema } from '../../schemas/build/base.ts'
import { outputs } from '../../schemas/build/build.ts'
import { standaloneSchemas, versions } from '../../schemas/build/mesh-schemas.ts'
import { schemaById } from '../../schemas/typescript/index.ts'

it.each([...outputs()])('%s is up to date with its source', (path, text) => {
  expect(readFileSync(new URL(`../../schemas/${path}`, import.meta.url), 'utf8')).toBe(text)
})

it.each(versions)('version %s compiles in strict mode with AJV', (version) => {
  const ajv = new Ajv({ strict: true, validateFormats: false })
  const schemas = [...standaloneSchemas(version).values()]
  for (const schema of schemas) ajv.addSchema(schema)
  for (const { $id } of schemas) expect(ajv.getSchema(String($id))).toBeTypeOf('function')
})

it.each(versions)('a program with the defaults of AJV validates messages with the files of version %s', (version) => {
  const ajv = new Ajv({ allErrors: true, logger: false })
  addFormats.default(ajv)
  const names = ['base', 'request', 'response', 'handshake', 'error', 'discover-agents', 'agent-announcement']
  const read = (name: string) =>
    JSON.parse(readFileSync(new URL(`../../schemas/json/v${version}/${name}-message.json`, import.meta.url), 'utf8'))
  for (const name of names) ajv.addSchema(read(name), name)
  for (const name of names) {
    const [example] = read(name).examples
    expect(ajv.validate(name, example), name).toBe(true)
    expect(ajv.validate(name, { ...example, timestamp: 'yesterday' }), name).toBe(false)
  }
})

it.each(versions)('every member in version %s has a description and a valid example', (version) => {
  const ajv = new Ajv({ strict: true, validateFormats: false })
  const schemas = [...standaloneSchemas(version).values()]
  for (const schema of schemas) ajv.addSchema(schema)
  let count = 0
  const visit = (value: unknown, pointer: string) => {
    if (!isSchema(value)) return
    for (const [name, member] of Object.entries(isSchema(value.properties) ? value.properties : {})) {
      const place = `${pointer}/properties/${name}`
      const { description, examples } = member as { description?: string; examples?: unknown[] }
      expect(description, place).toMatch(/^\S.*\.$/)
      const isValid = ajv.getSchema(place)
      expect(
        examples?.map((example) => isValid?.(example)),
        place,
      ).toEqual([true])
      count += 1
    }
    for (const [name, keyword] of Object.entries(value)) {
      if (name === 'properties' || name === 'examples') continue
      if (Array.isArray(keyword)) for (const [at, item] of keyword.entries()) visit(item, `${pointer}/${name}/${at}`)
      else if (name === 'definitions')
        for (const [title, definition] of Object.entries(keyword as object))
          visit(definition, `${pointer}/${name}/${title}`)
      else visit(keyword, `${pointer}/${name}`)
    }
  }
  for (const schema of schemas) {
    visit(schema, `${schema.$id}#`)
    const $comment = expect.stringMatching(`^Version ${version}, .*CHANGELOG\\.md$`)
    expect(schema).toMatchObject({ $comment, deprecated: false })
    expect((schema.examples as unknown[]).map((example) => ajv.validate(String(schema.$id), example))).toEqual([true])
  }
  expect(count).toBeGreaterThan(60)
})

it('a schema is found by the id without a version that its first description gave it', () => {
  for (const name of standaloneSchemas('1.0.0').keys()) {
    const schema = schemaById(`https://a2a-protocol.org/schemas/${name}`)
    expect(schema).toBeDefined()
    expect(schema).toBe(schemaById(`https://parley.dev/schemas/v1.0.0/${name}`))
  }
})

it('every schema has a stable id and is also found by its old one', () => {
  for (const version of versions) {
    for (const name of standaloneSchemas(version).keys()) {
      const id = `https://parley.dev/schemas/v${version}/${name}`
      expect(schemaById(id)).toMatchObject({ $id: id })
      expect(schemaById(id.replace('parley.dev', 'a2a-protocol.org'))).toBe(schemaById(id))
    }
  }
})
