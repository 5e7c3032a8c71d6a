import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { ClientDialect, ServerDialect } from '../../../src/core/dialects/dialect.ts'
import { v0_1Client } from '../../../src/core/dialects/v0.1/client.ts'
import { v0_1 } from '../../../src/core/dialects/v0.1/server.ts'
import { v0_2Client } from '../../../src/core/dialects/v0.2/client.ts'
import { v0_2 } from '../../../src/core/dialects/v0.2/server.ts'
import { v0_3Client } from '../../../src/core/dialects/v0.3/client.ts'
import { v0_3 } from '../../../src/core/dialects/v0.3/server.ts'
import { v0_3HouseClient } from '../../../src/core/dialects/v0.3-house/client.ts'
import { houseJson } from '../../../src/core/dialects/v0.3-house/server.ts'
import { v0_3ProtoClient } from '../../../src/core/dialects/v0.3-proto/client.ts'
import { v0_3Proto } from '../../../src/core/dialects/v0.3-proto/server.ts'
import { v1_0Client } from '../../../src/core/dialects/v1.0/client.ts'
import { v1_0 } from '../../../src/core/dialects/v1.0/server.ts'
import { fullCard, fullPushConfig, fullSend, fullTask, states } from './full-objects.ts'

const dialects: readonly (readonly [ServerDialect, ClientDialect])[] = [
  [v1_0, v1_0Client],
  [v0_3, v0_3Client],
  [v0_3Proto, v0_3ProtoClient],
  [houseJson, v0_3HouseClient],
  [v0_2, v0_2Client],
  [v0_1, v0_1Client],
]

const page = new URL('../../../docs/reference/dialects.md', import.meta.url)
const marks = { begin: '<!-- losses -->', end: '<!-- /losses -->' }

it('1.0 preserves every member of every object', () => {
  const lost = [...memberFates(v1_0, v1_0Client)].filter(([, fate]) => fate !== 'kept').map(([path]) => path)
  expect(lost).toEqual([])
})

it('the table of members that other dialects lose is up to date (update it with UPDATE_DOCS=1)', () => {
  const text = readFileSync(page, 'utf8')
  const [before, rest = ''] = text.split(marks.begin)
  const [, after] = rest.split(marks.end)
  const updated = `${before}${marks.begin}\n\n${lossTable()}\n\n${marks.end}${after}`
  if (process.env.UPDATE_DOCS) writeFileSync(page, updated)
  expect(readFileSync(page, 'utf8')).toBe(updated)
})

/** The members that at least one dialect does not preserve, one row each. */
function lossTable(): string {
  const columns = dialects.map(([server, client]) => ({ name: server.name, fates: memberFates(server, client) }))
  const paths = [...(columns[0]?.fates.keys() ?? [])]
  const cells: Record<Fate, string> = { kept: '✓', changed: 'changed', lost: '–' }
  const rows = paths
    .map((path) => ({ path, fates: columns.map(({ fates }) => fates.get(path) ?? 'lost') }))
    .filter(({ fates }) => fates.some((fate) => fate !== 'kept'))
    .map(({ path, fates }) => `| \`${path}\` | ${fates.map((fate) => cells[fate]).join(' | ')} |`)
  const head = `| member | ${columns.map(({ name }) => name).join(' | ')} |`
  return [head, `|---|${columns.map(() => '---|').join('')}`, ...rows].join('\n')
}

/** What happens to a member that is encoded and decoded. */
type Fate = 'kept' | 'changed' | 'lost'

/** The fate of every member of every full object, by its path. */
function memberFates(server: ServerDialect, client: ClientDialect): ReadonlyMap<string, Fate> {
  const ref = { taskId: 'T' }
  const fates = new Map<string, Fate>()
  const record = (name: string, before: unknown, convert: () => unknown) => {
    let after: unknown
    try {
      after = convert()
    } catch {
      after = undefined // the dialect does not have the object at all
    }
    for (const [path, value] of leaves(before, name)) {
      fates.set(path, fateOf(value, leafAt(after, path.slice(name.length))))
    }
  }
  const overWire = <T>(wire: T): T => JSON.parse(JSON.stringify(wire))

  record('Task', fullTask, () => client.decodeResult.getTask(overWire(server.encodeResult.getTask(fullTask, ref)), ref))
  for (const state of states) {
    const status = { state, timestamp: fullTask.status.timestamp }
    const event = { type: 'status', status, taskId: 'T', contextId: 'C', generation: 1, isLast: true } as const
    record(`state ${state}`, state, () => {
      const [wire] = overWire(server.encodeEvent(event, ref))
      const decoded = client.decodeEvent(wire, ref)
      return decoded.type === 'status' ? decoded.status.state : undefined
    })
  }
  record('PushConfig', fullPushConfig, () =>
    client.decodeResult.createPushConfig(
      overWire(server.encodeResult.createPushConfig(fullPushConfig, fullPushConfig)),
      fullPushConfig,
    ),
  )
  record('Send', fullSend, () => server.decodeRequest.sendMessage(overWire(client.encodeRequest.sendMessage(fullSend))))
  const card = fullCard(server.version)
  record('Card', card, () => client.decodeCard(overWire(server.encodeCard(card))))
  return fates
}

/** All scalar values, with their paths. */
function* leaves(value: unknown, path: string): Generator<[string, unknown]> {
  if (typeof value !== 'object' || value === null) {
    yield [path, value]
    return
  }
  for (const [key, member] of Object.entries(value)) {
    yield* leaves(member, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`)
  }
}

function leafAt(value: unknown, path: string): unknown {
  const keys = path.split(/[.[\]]+/).filter(Boolean)
  return keys.reduce<unknown>((parent, key) => (parent as Record<string, unknown> | undefined)?.[key], value)
}

function fateOf(before: unknown, after: unknown): Fate {
  if (after === undefined) return 'lost'
  return after === before ? 'kept' : 'changed'
}
