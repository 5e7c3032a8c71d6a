import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import type { RequestMessage } from '../../schemas/typescript/index.ts'

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

it('the program of the README compiles in strict mode and validates its message', { timeout: 60_000 }, async () => {
  const root = new URL('../../', import.meta.url)
  const text = await readFile(new URL('schemas/README.md', root), 'utf8')
  const folder = new URL('node_modules/.cache/schemas-readme/', root)
  await mkdir(folder, { recursive: true })
  await writeFile(new URL('readme.mts', folder), /^```ts\n(.*?)^```$/ms.exec(text)?.[1] ?? '')
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2024', types: ['node'] }
  await writeFile(new URL('tsconfig.json', folder), JSON.stringify({ compilerOptions, include: ['readme.mts'] }))
  const run = (...args: readonly string[]) => promisify(execFile)(process.execPath, args, { cwd: folder })
  await run(fileURLToPath(new URL('node_modules/typescript/bin/tsc', root)), '-p', '.')
  expect((await run(fileURLToPath(new URL('readme.mjs', folder)))).stdout).toMatch(/^true \[\] false\n/)
})

it('a directory instead of options is refused with a sentence', async () => {
  const { SchemaValidator } = await import('../../schemas/typescript/index.ts')
  // @ts-expect-error: the options of another library
  expect(() => new SchemaValidator('./schemas')).toThrow('the validator contains its schemas and reads no directory')
})

it('an unknown option is refused with the options that exist', async () => {
  const { SchemaValidator } = await import('../../schemas/typescript/index.ts')
  // @ts-expect-error: a misspelled option
  expect(() => new SchemaValidator({ authentic: true })).toThrow('There is no option authentic: there are version,')
})

it('errors have the path and the words of AJV, and name an unknown member of an answer', async () => {
  const { validate } = await import('../../schemas/typescript/index.ts')
  const file = new URL('../../schemas/json/v1.1.0/response-message.json', import.meta.url)
  const [example] = JSON.parse(await readFile(file, 'utf8')).examples
  expect(validate({ ...example, payload: { ...example.payload, x: 1 } }).errors).toContain(
    '/payload: must NOT have additional properties: x',
  )
  expect(validate({ ...example, message_type: 'x' }).errors).toEqual(['Unknown message_type: x'])
})

it('the types are mutable and open, so that interfaces with narrower payloads extend them', async () => {
  const { validate } = await import('../../schemas/typescript/index.ts')
  interface GetPriceRequest extends RequestMessage {
    payload: { method: 'get_price'; parameters: { currency: 'BTC' | 'ETH' } }
  }
  const request: GetPriceRequest = {
    message_id: crypto.randomUUID(),
    message_type: 'request',
    sender_id: 'client-001',
    recipient_id: 'server-001',
    timestamp: new Date().toISOString(),
    payload: { method: 'get_price', parameters: { currency: 'BTC' } },
    correlation_id: null,
  }
  request.payload.parameters.currency = 'ETH'
  const open: RequestMessage = request
  open.payload.parameters = { anything: { nested: 1 } }
  expect(open.payload.parameters?.anything.nested).toBe(1)
  expect(validate(open)).toEqual({ valid: true, errors: [] })
})

it('the versions of the npm and the Python package agree', async () => {
  const read = (file: string) => readFile(new URL(`../../schemas/${file}`, import.meta.url), 'utf8')
  const { version } = JSON.parse(await read('package.json'))
  expect(await read('pyproject.toml')).toContain(`version = "${version}"`)
  expect(await read('python/a2a_schemas/__init__.py')).toContain(`__version__ = "${version}"`)
})
