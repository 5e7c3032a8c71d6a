import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const built = new URL('node_modules/.cache/parley-schemas/', root)

it('the package builds and works as published', { timeout: 120_000 }, async () => {
  const compiler = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
  const args = ['-p', fileURLToPath(new URL('schemas/tsconfig.json', root)), '--outDir', fileURLToPath(built)]
  await promisify(execFile)(process.execPath, [compiler, ...args])
  const { exports } = JSON.parse(await readFile(new URL('schemas/package.json', root), 'utf8'))
  const entry: string = exports['.'].default.replace('./dist/', '')
  const { validate } = await import(new URL(entry, built).href)
  const { examples } = JSON.parse(await readFile(new URL('json/v1.1.0/goodbye-message.json', built), 'utf8'))
  expect(examples.map(validate)).toEqual([{ valid: true, errors: [] }])
  expect(validate({ ...examples[0], payload: 1 }).valid).toBe(false)
})
