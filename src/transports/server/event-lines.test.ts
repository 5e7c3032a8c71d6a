import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import type { ServerDialect } from '../../dialects/dialect.ts'
import { v0_1 } from '../../dialects/v0.1/server.ts'
import { v0_3 } from '../../dialects/v0.3/server.ts'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { encodeLines } from './event-stream.ts'

const request = { taskId: 'T' }

/** As the stream of each reader makes it of what the log has. */
function chunk(artifact: { artifactId: string; parts: { text: string }[] }, more: object = {}): StreamEvent {
  return { type: 'artifact', artifact, taskId: 'T', contextId: 'C', generation: 4, ...more }
}

function artifact(length: number) {
  return { artifactId: 'A', parts: [{ text: 'x'.repeat(length) }] }
}

/** Counts how often an event is encoded. */
function counting(dialect: ServerDialect) {
  const seen = { count: 0 }
  const encodeEvent: ServerDialect['encodeEvent'] = (event, request) => {
    seen.count++
    return dialect.encodeEvent(event, request)
  }
  return { seen, dialect: { ...dialect, encodeEvent } }
}

describe('what is written of an event', () => {
  it.each([v1_0, v0_3])('is written once for all who read a long chunk in $name', (spoken) => {
    const { dialect, seen } = counting(spoken)
    const long = artifact(2_000)
    const [first, second] = [chunk(long), chunk(long)].map((event) => encodeLines(event, { dialect, request }))
    expect(second).toEqual(first)
    expect(first?.map((line) => JSON.parse(line))).toEqual(spoken.encodeEvent(chunk(long), request))
    expect(seen.count).toBe(1)
  })

  it('is its own for another task, generation or dialect, though the artifact is the same object', () => {
    const long = artifact(2_000)
    const told = (event: StreamEvent, dialect: ServerDialect) =>
      encodeLines(event, { dialect, request }).map((line) => JSON.parse(line))
    for (const more of [{}, { taskId: 'other' }, { generation: 5, append: true }]) {
      const event = chunk(long, more)
      for (const dialect of [v1_0, v0_3, v0_1])
        expect(told(event, dialect)).toEqual(dialect.encodeEvent(event, request))
    }
  })

  it('is rewritten for those who want it otherwise', () => {
    const event = chunk(artifact(2_000))
    encodeLines(event, { dialect: v1_0, request })
    const rewrite = (wire: JsonObject) => ({ told: wire })
    const [line = ''] = encodeLines(event, { dialect: v1_0, request, rewrite })
    expect(JSON.parse(line)).toEqual({ told: v1_0.encodeEvent(event, request)[0] })
  })

  it('is not kept of short chunks, of giants, nor of those long past', () => {
    for (const [length, others] of [
      [10, 0],
      [300_000, 0],
      [2_000, 8],
    ] as const) {
      const { dialect, seen } = counting(v1_0)
      const kept = artifact(length)
      encodeLines(chunk(kept), { dialect, request })
      for (let n = 0; n < others; n++) encodeLines(chunk(artifact(2_000)), { dialect: v1_0, request })
      encodeLines(chunk(kept), { dialect, request })
      expect(seen.count).toBe(2)
    }
  })

  it('stands on one line for all who split lines', () => {
    const [line = ''] = encodeLines(chunk({ artifactId: 'A', parts: [{ text: 'a\u2028b\u0085c\nd' }] }), {
      dialect: v1_0,
      request,
    })
    expect(line).not.toMatch(/[\n\u0085\u2028\u2029]/)
    expect(JSON.parse(line)).toMatchObject({
      artifactUpdate: { artifact: { parts: [{ text: 'a\u2028b\u0085c\nd' }] } },
    })
  })
})
