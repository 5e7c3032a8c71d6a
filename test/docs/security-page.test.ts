import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { repositoryPath } from '../support/package/named-paths.ts'

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
const [, threats = ''] = read('explanation/security-model.md').split('## Threats and defences')
const rows = threats.split('\n').filter((line) => /^\| (?!attacker \|)/.test(line))

it('the security model links an existing test for every threat', () => {
  expect(rows.length).toBeGreaterThan(40)
  for (const row of rows) {
    const tests = Array.from(row.matchAll(/\]\(([^)]+\.test\.ts)\)/g), ([, path = '']) => repositoryPath(path))
    expect(tests.length, row).toBeGreaterThan(0)
    for (const path of tests) expect(path !== undefined && existsSync(path), row).toBe(true)
  }
})

it('the security guide names every export of parley-a2a/auth', async () => {
  const offered = Object.keys(await import('../../src/entries/auth.ts'))
  for (const name of offered) expect(read('guides/security.md'), name).toContain(name)
})
