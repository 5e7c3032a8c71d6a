import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const folder = fileURLToPath(new URL('../../docs/reference/api/', import.meta.url))
const api = readFileSync(new URL('../package/public-api.txt', import.meta.url), 'utf8')

const pageOf = (entry: string) => `${folder}${entry === 'index' ? 'parley-a2a' : entry}.md`

/** The import of an entry, such as `parley-a2a/client/auth` of `client-auth`. */
function nameOf(entry: string): string {
  const isOf = (target: string | object) => JSON.stringify(target).includes(`"./dist/${entry}.js"`)
  const [path = ''] = Object.entries(manifest.exports).find(([, target]) => isOf(target)) ?? []
  return `parley-a2a${path.slice(1)}`
}

/** The exported names by entry. */
const exported = new Map<string, Set<string>>()
for (const [, entry = '', name = ''] of api.matchAll(/^([\w-]+)\.ts: (\w+) /gm)) {
  exported.set(entry, (exported.get(entry) ?? new Set()).add(name))
}

describe('the API pages are current (npm run docs writes them)', () => {
  it.each([...exported])('%s has a page with every exported name, and no other', (entry, names) => {
    expect(existsSync(pageOf(entry))).toBe(true)
    const text = readFileSync(pageOf(entry), 'utf8')
    const headings = new Set([...text.matchAll(/^### (?:abstract )?(\w+)/gm)].map(([, name = '']) => name))
    expect([...headings].toSorted()).toEqual([...names].toSorted())
  })

  it('every entry has a page with its import as title, and a line in the index', () => {
    const index = readFileSync(`${folder}README.md`, 'utf8')
    for (const entry of exported.keys()) {
      const name = nameOf(entry)
      expect(readFileSync(pageOf(entry), 'utf8').split('\n')[0]).toBe(`# ${name}`)
      expect(index).toContain(`[\`${name}\`]`)
    }
    expect(readdirSync(folder)).toHaveLength(exported.size + 1)
  })
})
