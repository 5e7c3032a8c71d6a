import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { ClientDialect, ServerDialect } from '../../../src/dialects/dialect.ts'
import { v0_1Client } from '../../../src/dialects/v0.1/client.ts'
import { v0_1 } from '../../../src/dialects/v0.1/server.ts'
import { v0_2Client } from '../../../src/dialects/v0.2/client.ts'
import { v0_2 } from '../../../src/dialects/v0.2/server.ts'
import { v0_3Client } from '../../../src/dialects/v0.3/client.ts'
import { v0_3 } from '../../../src/dialects/v0.3/server.ts'
import { v0_3HouseClient } from '../../../src/dialects/v0.3-house/client.ts'
import { v0_3House } from '../../../src/dialects/v0.3-house/server.ts'
import { v0_3ProtoClient } from '../../../src/dialects/v0.3-proto/client.ts'
import { v0_3Proto } from '../../../src/dialects/v0.3-proto/server.ts'
import { v1_0Client } from '../../../src/dialects/v1.0/client.ts'
import { v1_0 } from '../../../src/dialects/v1.0/server.ts'
import { type Fate, fatesIn } from './losses.ts'

const dialects: readonly (readonly [ServerDialect, ClientDialect])[] = [
  [v1_0, v1_0Client],
  [v0_3, v0_3Client],
  [v0_3Proto, v0_3ProtoClient],
  [v0_3House, v0_3HouseClient],
  [v0_2, v0_2Client],
  [v0_1, v0_1Client],
]

const page = new URL('../../../docs/dialects.md', import.meta.url)
const marks = { begin: '<!-- losses -->', end: '<!-- /losses -->' }

/** The members that some dialect does not bring back, one row each. */
function lossTable(): string {
  const columns = dialects.map(([server, client]) => ({ name: server.name, fates: fatesIn(server, client) }))
  const paths = [...(columns[0]?.fates.keys() ?? [])]
  const said: Record<Fate, string> = { kept: '✓', changed: 'changed', lost: '–' }
  const rows = paths
    .map((path) => ({ path, fates: columns.map(({ fates }) => fates.get(path) ?? 'lost') }))
    .filter(({ fates }) => fates.some((fate) => fate !== 'kept'))
    .map(({ path, fates }) => `| \`${path}\` | ${fates.map((fate) => said[fate]).join(' | ')} |`)
  const head = `| member | ${columns.map(({ name }) => name).join(' | ')} |`
  return [head, `|---|${columns.map(() => '---|').join('')}`, ...rows].join('\n')
}

it('brings every member of every object back through 1.0', () => {
  const lost = [...fatesIn(v1_0, v1_0Client)].filter(([, fate]) => fate !== 'kept').map(([path]) => path)
  expect(lost).toEqual([])
})

it('publishes what other dialects lose (write it with UPDATE_DOCS=1)', () => {
  const text = readFileSync(page, 'utf8')
  const [before, rest = ''] = text.split(marks.begin)
  const [, after] = rest.split(marks.end)
  const now = `${before}${marks.begin}\n\n${lossTable()}\n\n${marks.end}${after}`
  if (process.env.UPDATE_DOCS) writeFileSync(page, now)
  expect(readFileSync(page, 'utf8')).toBe(now)
})
