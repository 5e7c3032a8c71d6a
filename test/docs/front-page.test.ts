import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { keywords } from '../../docs/.vitepress/keywords.ts'

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))
const read = (page: string) => readFileSync(join(docs, page), 'utf8')
const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md') && !/^(?:decisions|reference\/api|\.vitepress)\//.test(file))
  .sort()

/** Written from the code, or by the measurement that they report. */
const generated = ['cli', 'options', 'errors', 'benchmarks', 'conformance-results', 'interop'].map(
  (name) => `reference/${name}.md`,
)

/** The tables that tests write from the code: the rules of conformance, and what dialects lose. */
const withoutTables = (text: string) =>
  text.replace(/^\| `[a-z-]+\/.*$/gm, '').replace(/<!-- losses -->.*<!-- \/losses -->/s, '')

it('the front page lists every guide, reference and explanation once, in its groups', () => {
  const [, ...sections] = read('README.md').split(/^## /m)
  const listed = [...sections.join('').matchAll(/^\| \[[^\]]+\]\(([^)#]+\.md)\)/gm)].map(([, page]) => page)
  const expected = pages.filter((page) => !/^(?:README|tutorial|guides\/frameworks\/(?!README))/.test(page))
  expect(listed.toSorted()).toEqual([...expected, 'decisions/README.md', 'reference/api/README.md'].toSorted())
})

it('every page has keywords for the search', () => {
  expect(Object.keys(keywords).toSorted()).toEqual(pages)
})

it('searches for words that newcomers use find a page', () => {
  const words = Object.values(keywords).join(', ').toLowerCase()
  for (const word of ['docker', 'cloudflare', 'serverless', 'faq', 'kubernetes', 'jest', 'redis', 'webhook']) {
    expect(words).toContain(word)
  }
})

it('the hand-written pages have at most 65,000 words', () => {
  const written = pages.filter((page) => !generated.includes(page)).map((page) => join('docs', page))
  const count = ['README.md', ...written]
    .map(
      (page) =>
        withoutTables(readFileSync(join(docs, '..', page), 'utf8'))
          .split(/\s+/)
          .filter(Boolean).length,
    )
    .reduce((sum, words) => sum + words, 0)
  expect(count).toBeLessThanOrEqual(65_000)
})

it('the changelog of a version has at most 1,200 words', () => {
  const [, ...versions] = readFileSync(join(docs, '../CHANGELOG.md'), 'utf8').split(/^## /m)
  for (const version of versions) expect(version.split(/\s+/).length, version.slice(0, 20)).toBeLessThan(1_200)
})

it('error codes have an ASCII minus, so that a search for -32001 finds them', () => {
  const files = [...pages.map((page) => join('docs', page)), 'README.md', 'CHANGELOG.md', 'llms.txt']
  const found = files.filter((file) => /\u2212\d/.test(readFileSync(join(docs, '..', file), 'utf8')))
  expect(found).toEqual([])
})

it('the README and the front page begin with the same picture and program', () => {
  const readme = readFileSync(join(docs, '../README.md'), 'utf8')
  const program = /^```ts\n\/\/ agent\.ts.*?^```$/ms
  expect(program.exec(read('README.md'))?.[0]).toBe(program.exec(readme)?.[0])
  const [, picture = ''] = /!\[[^\]]*\]\((images\/[^)]+)\)/.exec(read('README.md')) ?? []
  expect(existsSync(join(docs, picture))).toBe(true)
  expect(readme).toContain(`docs/${picture}`)
})
