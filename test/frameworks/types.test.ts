import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('the adapters and their tests compile with the types of the real frameworks', { timeout: 300_000 }, async () => {
  const compiler = resolve('node_modules/typescript/bin/tsc')
  const problems = await promisify(execFile)(process.execPath, [compiler, '-p', join('test', 'frameworks')]).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
  expect(problems).toBe('')
})
