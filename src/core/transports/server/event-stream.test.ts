import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import type { ServerDialect } from '../../dialects/dialect.ts'
import { v0_1 } from '../../dialects/v0.1/server.ts'
import { v0_3 } from '../../dialects/v0.3/server.ts'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { framingFor } from '../jsonrpc/server.ts'
import { encodeLines, eventFrames } from './event-stream.ts'

const timestamp = '2026-05-01T08:00:00.000Z'
const ref = { taskId: 'T', contextId: 'C' }

const started: StreamEvent = {
  type: 'task',
  task: {
    id: 'T',
    contextId: 'C',
    status: { state: 'submitted', timestamp },
    artifacts: [],
    history: [],
    generation: 2,
  },
}
const working: StreamEvent = { type: 'status', status: { state: 'working', timestamp }, ...ref, generation: 3 }
const chunk: StreamEvent = {
  type: 'artifact',
  artifact: { artifactId: 'A', parts: [{ text: 'a' }] },
  ...ref,
  generation: 4,
}

function stream(events: readonly StreamEvent[], failure?: unknown, dialect: ServerDialect = v1_0) {
  const reported: unknown[] = []
  const caller = new AbortController()
  async function* source(): AsyncGenerator<StreamEvent> {
    yield* events
    if (failure !== undefined) throw failure
  }
  const onError = (error: unknown) => reported.push(error)
  const frames = eventFrames({
    events: source(),
    dialect,
    request: { taskId: 'T' },
    framing: framingFor(5, v1_0, { header: () => undefined, query: '' }),
    incoming: { header: () => undefined, signal: caller.signal },
    onError,
  })
  return { frames, reported, caller }
}

describe('eventFrames', () => {
  it('a stream ends with the error that the dialect has instead of an event', async () => {
    const late = new A2AError('input-timeout', 'Too late')
    const dialect = { ...v1_0, errorInsteadOf: (event: StreamEvent) => (event === working ? late : undefined) }
    const { frames, reported } = stream([started, working, chunk], undefined, dialect)
    const [status, last, ...more] = await Array.fromAsync(frames)
    expect(status).toContain('TASK_STATE_SUBMITTED')
    expect(last).toMatch(/^event: error\ndata: .*-32050/)
    expect([...more, ...reported]).toEqual([])
  })

  it('events are numbered by their generation and answer the request', async () => {
    expect(await Array.fromAsync(stream([started, working, chunk]).frames)).toEqual([
      `id: 2\ndata: {"jsonrpc":"2.0","id":5,"result":{"task":{"id":"T","contextId":"C","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"${timestamp}"}}}}\n\n`,
      `id: 3\ndata: {"jsonrpc":"2.0","id":5,"result":{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_WORKING","timestamp":"${timestamp}"}}}}\n\n`,
      'id: 4\ndata: {"jsonrpc":"2.0","id":5,"result":{"artifactUpdate":{"taskId":"T","contextId":"C","artifact":{"artifactId":"A","parts":[{"text":"a"}]}}}}\n\n',
    ])
  })

  it('a message has no number', async () => {
    const { frames } = stream([
      { type: 'message', message: { messageId: 'm', role: 'agent', parts: [{ text: 'hi' }] } },
    ])
    expect(await Array.fromAsync(frames)).toEqual([
      'data: {"jsonrpc":"2.0","id":5,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}}\n\n',
    ])
  })

  it('a failure before the first event is thrown', async () => {
    await expect(Array.fromAsync(stream([], new A2AError('task-ended', 'Over.')).frames)).rejects.toThrow('Over.')
  })

  it('a later failure is the last event', async () => {
    const { frames, reported } = stream([started], new A2AError('unavailable', 'Closing down.'))
    const [, last] = await Array.fromAsync(frames)
    expect(last).toMatch(
      /^event: error\ndata: \{"jsonrpc":"2.0","id":5,"error":\{"code":-32603,"message":"Closing down\./,
    )
    expect(reported).toEqual([])
  })

  it('an unexpected error is reported to the operator and hidden from the caller', async () => {
    const failure = new Error('s3cret')
    const { frames, reported } = stream([started], failure)
    const [, last] = await Array.fromAsync(frames)
    expect(last).toBe(
      'event: error\ndata: {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"Internal error"}}\n\n',
    )
    expect(reported).toEqual([failure])
  })

  it('an error after the reader has left is not reported', async () => {
    const { frames, reported, caller } = stream([started], new Error('aborted'))
    await frames.next()
    caller.abort()
    await frames.next()
    expect(reported).toEqual([])
  })
})

const request = { taskId: 'T' }

/** Each reader gets its own event object, with the artifact object of the log in it. */
function chunkOf(artifact: { artifactId: string; parts: { text: string }[] }, more: object = {}): StreamEvent {
  return { type: 'artifact', artifact, taskId: 'T', contextId: 'C', generation: 4, ...more }
}

function artifact(length: number) {
  return { artifactId: 'A', parts: [{ text: 'x'.repeat(length) }] }
}

/** Counts how often an event is encoded. */
function counting(dialect: ServerDialect) {
  const encodings = { count: 0 }
  const encodeEvent: ServerDialect['encodeEvent'] = (event, request) => {
    encodings.count++
    return dialect.encodeEvent(event, request)
  }
  return { encodings, dialect: { ...dialect, encodeEvent } }
}

describe('encodeLines', () => {
  it.each([v1_0, v0_3])('a long chunk is encoded once for all its readers in $name', (original) => {
    const { dialect, encodings } = counting(original)
    const long = artifact(2_000)
    const [first, second] = [chunkOf(long), chunkOf(long)].map((event) => encodeLines(event, { dialect, request }))
    expect(second).toEqual(first)
    expect(first?.map((line) => JSON.parse(line))).toEqual(original.encodeEvent(chunkOf(long), request))
    expect(encodings.count).toBe(1)
  })

  it('another task, generation or dialect has its own encoding of the same artifact object', () => {
    const long = artifact(2_000)
    const encode = (event: StreamEvent, dialect: ServerDialect) =>
      encodeLines(event, { dialect, request }).map((line) => JSON.parse(line))
    for (const more of [{}, { taskId: 'other' }, { generation: 5, append: true }]) {
      const event = chunkOf(long, more)
      for (const dialect of [v1_0, v0_3, v0_1])
        expect(encode(event, dialect)).toEqual(dialect.encodeEvent(event, request))
    }
  })

  it('a rewritten event is not shared with other readers', () => {
    const event = chunkOf(artifact(2_000))
    encodeLines(event, { dialect: v1_0, request })
    const rewrite = (wire: JsonObject) => ({ wrapped: wire })
    const [line = ''] = encodeLines(event, { dialect: v1_0, request, rewrite })
    expect(JSON.parse(line)).toEqual({ wrapped: v1_0.encodeEvent(event, request)[0] })
  })

  it('short chunks, very long ones and older ones are not cached', () => {
    for (const [length, others] of [
      [10, 0],
      [300_000, 0],
      [2_000, 8],
    ] as const) {
      const { dialect, encodings } = counting(v1_0)
      const cached = artifact(length)
      encodeLines(chunkOf(cached), { dialect, request })
      for (let n = 0; n < others; n++) encodeLines(chunkOf(artifact(2_000)), { dialect: v1_0, request })
      encodeLines(chunkOf(cached), { dialect, request })
      expect(encodings.count).toBe(2)
    }
  })

  it('an event is one line, also for readers that split lines at other characters', () => {
    const [line = ''] = encodeLines(chunkOf({ artifactId: 'A', parts: [{ text: 'a\u2028b\u0085c\nd' }] }), {
      dialect: v1_0,
      request,
    })
    expect(line).not.toMatch(/[\n\u0085\u2028\u2029]/)
    expect(JSON.parse(line)).toMatchObject({
      artifactUpdate: { artifact: { parts: [{ text: 'a\u2028b\u0085c\nd' }] } },
    })
  })
})
