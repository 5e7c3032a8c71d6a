import { beforeAll, describe, expect, it } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import type { Server } from '../../../src/serve/options.ts'
import { serve } from '../../../src/serve/serve.ts'
import { collect, deferred } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { type StreamLine, streamIn } from '../../support/wire/dialect-streams.ts'

let thinking = deferred()

/** What the agent does first depends on the text of the message. */
async function run(turn: Turn): Promise<string | undefined> {
  if (turn.history.length > 0) return 'thanks'
  switch (turn.text) {
    case 'work':
      await turn.status('working', 'reading')
      return 'done'
    case 'ask':
      await turn.requireInput('which one?')
      return undefined
    case 'fail':
      await turn.fail('no')
      return undefined
    case 'throw':
      throw new Error('broken')
    case 'end':
      return undefined
    case 'write':
      await turn.artifact('page').close('text')
      return undefined
    case 'think':
      await thinking.promise
      return 'thought'
    default:
      return 'hello'
  }
}

let server: Server

beforeAll(async () => {
  server = await serve(agent({ name: 'Test' }, run), {
    port: 0,
    signals: false,
    log: createMemoryLog(),
    logger: silentLogger,
    drainDeadline: 0,
    grpc: true,
    dialects: { house: { holdStreamOnInput: false } },
  })
  return () => server.close()
})

/** The type and state of each event; of those with text, also that. */
const describeLines = (lines: readonly StreamLine[]) =>
  lines.map(({ type, state, text }) => [type, state, text].filter((word) => word !== undefined).join(' '))

describe.each(dialectBindings)('the first events in %s over %s', (...target) => {
  const isFirst = target[0] === 'v0.1'
  const isNewest = target[0] === 'v1.0'
  /** 0.1 streams have no tasks. */
  const task = isFirst ? 'status' : 'task'

  /** The end of a task whose agent returns that text. */
  function endOf(text: string): readonly string[] {
    if (target[0] === 'v0.3-house') return [`status completed ${text}`]
    return [`artifact ${text}`, isFirst ? `status completed ${text}` : 'status completed']
  }

  async function linesFor(text: string): Promise<readonly StreamLine[]> {
    return await collect(streamIn(target, server, text))
  }

  it('a stream begins with the submitted task, and the first status is an event of its own', async () => {
    const lines = await linesFor('work')
    expect(describeLines(lines)).toEqual([`${task} submitted`, 'status working reading', ...endOf('done')])
  })

  it.each([
    ['ask', 'status input-required which one?'],
    ['fail', 'status failed no'],
    ['end', 'status completed'],
  ])('a first act that pauses or ends the turn is a status of its own: %s', async (text, line) => {
    const lines = await linesFor(text)
    expect(describeLines(lines)).toEqual([`${task} submitted`, line])
    const [first, last] = lines
    expect(last?.taskId).toBe(first?.taskId)
    expect(last?.taskId).toMatch(/./)
    if (!isNewest) expect(last?.final).toBe(true)
  })

  it('an agent that throws fails the task in an event of its own', async () => {
    // House clients get an error.
    const line = /^(status failed The agent failed unexpectedly|error)/
    expect(describeLines(await linesFor('throw'))).toEqual([`${task} submitted`, expect.stringMatching(line)])
  })

  it('a task whose agent begins with an artifact is working before it', async () => {
    const lines = await linesFor('write')
    expect(describeLines(lines)).toEqual([`${task} submitted`, 'status working', 'artifact text', 'status completed'])
  })

  it('a caller gets the task while the agent still thinks', async () => {
    thinking = deferred()
    const lines = streamIn(target, server, 'think')
    const first = await lines.next()
    expect(first.value).toMatchObject({ type: task, state: 'submitted' })
    thinking.resolve()
    expect(describeLines(await collect(lines))).toEqual(expect.arrayContaining([...endOf('thought')]))
  })

  it('the stream of an answer begins with a task that no longer asks', async () => {
    const [first] = await linesFor('ask')
    const lines = await collect(streamIn(target, server, 'this one', { taskId: first?.taskId ?? '' }))
    expect(describeLines(lines)).toEqual([`${task} working`, ...endOf('thanks')])
  })
})

it('an agent that answers at once with a plain message creates no task', async () => {
  const lines = await collect(streamIn(['v0.3', 'JSONRPC'], server, 'hi'))
  expect(describeLines(lines)).toEqual(['message hello'])
})

it('an agent that thinks may still answer with a plain message if the operator says so', async () => {
  const { server } = await startTestServer(
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 200))
      return 'hello'
    },
    { turns: { taskAfter: Number.POSITIVE_INFINITY } },
  )
  const lines = await collect(streamIn(['v0.3', 'JSONRPC'], server, 'hi'))
  expect(describeLines(lines)).toEqual(['message hello'])
})
