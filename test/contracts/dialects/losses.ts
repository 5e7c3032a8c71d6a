import type { ClientDialect, ServerDialect } from '../../../src/dialects/dialect.ts'
import { fullCard, fullPushConfig, fullSend, fullTask, states } from './full-objects.ts'

/** What became of a member on its way through a dialect and back. */
export type Fate = 'kept' | 'changed' | 'lost'

/** The fate of every member of every full object, by its path. */
export function fatesIn(server: ServerDialect, client: ClientDialect): ReadonlyMap<string, Fate> {
  const ref = { taskId: 'T' }
  const fates = new Map<string, Fate>()
  const note = (name: string, before: unknown, through: () => unknown) => {
    let after: unknown
    try {
      after = through()
    } catch {
      after = undefined // the dialect has no such thing at all
    }
    for (const [path, value] of leaves(before, name))
      fates.set(path, fateOf(value, leafAt(after, path.slice(name.length))))
  }
  const overWire = <T>(wire: T): T => JSON.parse(JSON.stringify(wire))

  note('Task', fullTask, () => client.decodeResult.getTask(overWire(server.encodeResult.getTask(fullTask, ref)), ref))
  for (const state of states) {
    const status = { state, timestamp: fullTask.status.timestamp }
    const event = { type: 'status', status, taskId: 'T', contextId: 'C', generation: 1, isLast: true } as const
    note(`state ${state}`, state, () => {
      const [wire] = overWire(server.encodeEvent(event, ref))
      const read = client.decodeEvent(wire, ref)
      return read.type === 'status' ? read.status.state : undefined
    })
  }
  note('PushConfig', fullPushConfig, () =>
    client.decodeResult.createPushConfig(
      overWire(server.encodeResult.createPushConfig(fullPushConfig, fullPushConfig)),
      fullPushConfig,
    ),
  )
  note('Send', fullSend, () => server.decodeRequest.sendMessage(overWire(client.encodeRequest.sendMessage(fullSend))))
  const card = fullCard(server.version)
  note('Card', card, () => client.decodeCard(overWire(server.encodeCard(card))))
  return fates
}

/** Every value that is no object, with its path; list positions count as one. */
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
  return keys.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value)
}

function fateOf(before: unknown, after: unknown): Fate {
  if (after === undefined) return 'lost'
  return after === before ? 'kept' : 'changed'
}
