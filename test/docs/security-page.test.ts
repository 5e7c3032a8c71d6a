import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const page = new URL('../../docs/guides/security.md', import.meta.url)
const text = readFileSync(page, 'utf8')
const [, threats = ''] = text.split('## Threats and defences')
const rows = threats.split('\n').filter((line) => /^\| (?!attacker \|)/.test(line))

it('the security guide links an existing test for every threat', () => {
  expect(rows.length).toBeGreaterThan(35)
  for (const row of rows) {
    const tests = Array.from(row.matchAll(/\]\(([^)]+\.test\.ts)\)/g), ([, path = '']) => path)
    expect(tests.length, row).toBeGreaterThan(0)
    for (const path of tests) expect(existsSync(new URL(path, page)), path).toBe(true)
  }
})

it('the security guide names every export of parley-a2a/auth', async () => {
  const offered = Object.keys(await import('../../src/entries/auth.ts'))
  for (const name of offered) expect(text, name).toContain(name)
})
