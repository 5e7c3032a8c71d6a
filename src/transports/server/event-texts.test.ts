import { describe, expect, it } from 'vitest'
import type { ServerDialect } from '../../dialects/dialect.ts'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { failureText, successStart } from '../jsonrpc/envelope.ts'
import { eventFrames } from './event-stream.ts'

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
  const texts = eventFrames(source(), {
    dialect,
    request: { taskId: 'T' },
    wording: {
      before: successStart(5),
      after: '}',
      failure: (error) => failureText(5, v1_0.encodeError(error)),
    },
    signal: caller.signal,
    onError,
  })
  return { texts, reported, caller }
}

async function collect(texts: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const text of texts) all.push(text)
  return all
}

describe('the events of a stream', () => {
  it('end with the error that the dialect wants behind one of them', async () => {
    const late = new A2AError('input-timeout', 'Too late')
    const dialect = { ...v1_0, errorAfter: (event: StreamEvent) => (event === working ? late : undefined) }
    const { texts, reported } = stream([started, working, chunk], undefined, dialect)
    const [, told, last, ...more] = await collect(texts)
    expect(told).toContain('TASK_STATE_WORKING')
    expect(last).toMatch(/^event: error\ndata: .*-32050/)
    expect([...more, ...reported]).toEqual([])
  })

  it('are numbered by their generation and are answers to the request', async () => {
    expect(await collect(stream([started, working, chunk]).texts)).toEqual([
      `id: 2\ndata: {"jsonrpc":"2.0","id":5,"result":{"task":{"id":"T","contextId":"C","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"${timestamp}"}}}}\n\n`,
      `id: 3\ndata: {"jsonrpc":"2.0","id":5,"result":{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_WORKING","timestamp":"${timestamp}"}}}}\n\n`,
      'id: 4\ndata: {"jsonrpc":"2.0","id":5,"result":{"artifactUpdate":{"taskId":"T","contextId":"C","artifact":{"artifactId":"A","parts":[{"text":"a"}]}}}}\n\n',
    ])
  })

  it('have no number when there is only a message', async () => {
    const { texts } = stream([{ type: 'message', message: { messageId: 'm', role: 'agent', parts: [{ text: 'hi' }] } }])
    expect(await collect(texts)).toEqual([
      'data: {"jsonrpc":"2.0","id":5,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}}\n\n',
    ])
  })
})

describe('a stream that fails', () => {
  it('before its first event, throws', async () => {
    await expect(collect(stream([], new A2AError('task-ended', 'Over.')).texts)).rejects.toThrow('Over.')
  })

  it('later, ends with an event that is the error', async () => {
    const { texts, reported } = stream([started], new A2AError('unavailable', 'Closing down.'))
    const [, last] = await collect(texts)
    expect(last).toMatch(
      /^event: error\ndata: \{"jsonrpc":"2.0","id":5,"error":\{"code":-32603,"message":"Closing down\./,
    )
    expect(reported).toEqual([])
  })

  it('for a reason that is none of the caller’s business, tells it to us alone', async () => {
    const failure = new Error('s3cret')
    const { texts, reported } = stream([started], failure)
    const [, last] = await collect(texts)
    expect(last).toBe(
      'event: error\ndata: {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"Internal error"}}\n\n',
    )
    expect(reported).toEqual([failure])
  })

  it('because its reader has gone, is not reported', async () => {
    const { texts, reported, caller } = stream([started], new Error('aborted'))
    await texts.next()
    caller.abort()
    await texts.next()
    expect(reported).toEqual([])
  })
})
