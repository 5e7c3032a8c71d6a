import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { execPath } from 'node:process'
import manifest from '../package.json' with { type: 'json' }

/**
 * Writes docs/reference/api: one page per entry of the package, from the doc comments.
 *
 *     node scripts/write-api-docs.ts
 */
const root = resolve(import.meta.dirname, '..')
const folder = join(root, 'docs/reference/api')

/** The order of the index: the entries that most readers need, then the others by name. */
const first = ['index', 'client', 'auth', 'client-auth', 'server', 'node', 'testing', 'loop', 'mcp']

execFileSync(execPath, [join(root, 'node_modules/typedoc/bin/typedoc')], { cwd: root, stdio: 'inherit' })

const entries = readdirSync(folder)
  .filter((file) => file.endsWith('.md') && file !== 'README.md')
  .map((file) => file.replace(/\.md$/, ''))
  .toSorted((one, other) => rankOf(one) - rankOf(other) || one.localeCompare(other))

for (const entry of entries) {
  const [, ...body] = readFileSync(join(folder, `${entry}.md`), 'utf8').split('\n')
  // The index page of the folder is README.md.
  const text = body
    .join('\n')
    .replaceAll('](index.md', `](${fileOf('index')}`)
    // The members of an inlined type have rows of their own.
    .replace(/^\| `(\w+\??)` \| \\\{ .* \\\} \| (.*) \|$(?=\n\| `\w+\??\.)/gm, '| `$1` | `object` | $2 |')
  const intro = text.includes(descriptionOf(entry)) ? '' : `\n${descriptionOf(entry)}\n`
  writeFileSync(join(folder, `${entry}.md`), `# ${importOf(entry)}\n${intro}${text}`)
}
renameSync(join(folder, 'index.md'), join(folder, fileOf('index')))

const rows = entries.map((entry) => `| [\`${importOf(entry)}\`](${fileOf(entry)}) | ${descriptionOf(entry)} |`)
writeFileSync(
  join(folder, 'README.md'),
  `# API

Every export of every entry of the package, from its doc comment. \`npm run docs\` writes these pages.

| import from | |
|---|---|
${rows.join('\n')}
`,
)

function rankOf(entry: string): number {
  const rank = first.indexOf(entry)
  return rank === -1 ? first.length : rank
}

/** `client-auth` is imported as `parley-a2a/client/auth`. */
function importOf(entry: string): string {
  const isOf = (target: string | object) => JSON.stringify(target).includes(`"./dist/${entry}.js"`)
  const [path = ''] = Object.entries(manifest.exports).find(([, target]) => isOf(target)) ?? []
  return join('parley-a2a', path)
}

function fileOf(entry: string): string {
  return entry === 'index' ? 'parley-a2a.md' : `${entry}.md`
}

/** The comment at the top of the entry. */
function descriptionOf(entry: string): string {
  const [, comment] = /^\/\*\* (.+) \*\/$/m.exec(readFileSync(join(root, `src/entries/${entry}.ts`), 'utf8')) ?? []
  if (comment === undefined) throw new Error(`src/entries/${entry}.ts: expected a comment with one sentence at the top`)
  return comment
}
