import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('the built package is imported by its name and validates messages', async () => {
  const program = `import { SchemaValidator, schemaById, validate } from 'parley-a2a-schemas'
    import goodbye from 'parley-a2a-schemas/json/v1.1.0/goodbye-message.json' with { type: 'json' }
    const [example] = goodbye.examples
    console.log(JSON.stringify([
      validate(example),
      new SchemaValidator({ version: '1.1.0' }).validate({ ...example, payload: 1 }).valid,
      schemaById(goodbye.$id).title,
    ]))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: new URL('../../', import.meta.url),
  })
  expect(JSON.parse(stdout)).toEqual([{ valid: true, errors: [] }, false, 'GoodbyeMessage'])
})

it('a directory instead of options is refused with a sentence', async () => {
  const { SchemaValidator } = await import('../../schemas/typescript/index.ts')
  // @ts-expect-error: the options of another library
  expect(() => new SchemaValidator('./schemas')).toThrow('the validator contains its schemas and reads no directory')
})

it('the versions of the npm and the Python package agree', async () => {
  const read = (file: string) => readFile(new URL(`../../schemas/${file}`, import.meta.url), 'utf8')
  const { version } = JSON.parse(await read('package.json'))
  expect(await read('pyproject.toml')).toContain(`version = "${version}"`)
  expect(await read('python/a2a_schemas/__init__.py')).toContain(`__version__ = "${version}"`)
})
