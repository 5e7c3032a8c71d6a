import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The messages that the code passes to a logger as literals. */
function loggedMessages(): readonly string[] {
  // Up to the end of the call: another statement begins on its own line.
  const argument = /(?:(?!\n\s*(?:\}|if|this|return|const|void|await|\w+\.|\w+\())[^;]){0,160}?/.source
  const calls = new RegExp(
    `\\w*[lL]og(?:ger)?(?:\\(\\))?\\.(?:debug|info|warn|error)\\(${argument}(['\`])((?:\\\\.|(?!\\1).)+)\\1,?\\s*\\)`,
    'g',
  )
  const failures = /message:[^\n]*?(['`])((?:a|an|two) (?:\\.|(?!\1).)+)\1/g
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('cli'))
    .flatMap((file) => {
      const text = readFileSync(join(root, 'src', file), 'utf8')
      const patterns = file.startsWith('loop') ? [calls, failures] : [calls]
      return patterns.flatMap((pattern) => Array.from(text.matchAll(pattern), ([, , message = '']) => message))
    })
}

it('the page about logs lists every event', () => {
  const page = readFileSync(join(root, 'docs/reference/logs.md'), 'utf8')
  const messages = loggedMessages().filter((message) => !message.includes('${'))
  expect(messages.length).toBeGreaterThan(40)
  expect(messages).toContain('turn ended')
  expect(messages).toContain('a tool failed')
  expect(messages.filter((message) => !page.includes(`\`${message}\``))).toEqual([])
})
