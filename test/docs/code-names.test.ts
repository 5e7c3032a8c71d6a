import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { commands } from '../../src/cli/commands.ts'
import { documents } from '../support/package/named-paths.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const api = readFileSync(`${root}test/package/public-api.txt`, 'utf8')
const exported = new Set([...api.matchAll(/: (\w+) \(/g)].map(([, name]) => name))
const paths = commands.map(({ path }) => path)
const entries = new Set(Object.keys(manifest.exports).map((path) => `parley-a2a${path.slice(1)}`))

/** The prose of a document: its inline code, without the programs. Decisions tell of names that are gone. */
function spansOf(document: string): readonly string[] {
  const text = readFileSync(`${root}${document}`, 'utf8').replace(/^```.*?^```$/gms, '')
  return Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code = '']) => code)
}

/** Whether a command begins with these words, or these words begin with a command. */
function isCommand(words: string): boolean {
  return paths.some((path) => path === words || path.startsWith(`${words} `) || words.startsWith(`${path} `))
}

/** Names of other libraries, which the pages compare with. */
const foreign = new Set(['createAuthenticatingFetchWithRetry', 'createReactAgent'])

const pages = documents().filter(
  (document) => !/^(?:docs\/(?:decisions|reference\/api)\/|src\/|CONTRIBUTING)/.test(document),
)

it.each(pages)('commands, entries and creators that %s names exist', (document) => {
  const missing = spansOf(document).filter((code) => {
    const [, words] = /^(?:npx )?parley(?:-a2a)? ([a-z][a-z-]*(?: [a-z][a-z-]*)*)/.exec(code) ?? []
    if (words !== undefined) return !isCommand(words)
    if (/^parley-a2a\/[\w/-]+$/.test(code)) return !entries.has(code)
    const [, creator] = /^(create[A-Z]\w*)(?:\(.*\))?$/.exec(code) ?? []
    return creator !== undefined && !exported.has(creator) && !foreign.has(creator)
  })
  expect(missing).toEqual([])
})
