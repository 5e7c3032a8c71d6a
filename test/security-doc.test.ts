import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const page = new URL('../docs/security.md', import.meta.url)
const text = readFileSync(page, 'utf8')
const [, threats = ''] = text.split('## What is tried, and what stops it')
const rows = threats.split('\n').filter((line) => /^\| (?!who \|)/.test(line))

it('names for every threat a test that is there', () => {
  expect(rows.length).toBeGreaterThan(35)
  for (const row of rows) {
    const tests = Array.from(row.matchAll(/\]\(([^)]+\.test\.ts)\)/g), ([, path = '']) => path)
    expect(tests.length, row).toBeGreaterThan(0)
    for (const path of tests) expect(existsSync(new URL(path, page)), path).toBe(true)
  }
})

it('names every scheme, and everything that it shows is exported', async () => {
  const offered = Object.keys(await import('../src/entries/auth.ts'))
  for (const name of offered) expect(text, name).toContain(name)
})
