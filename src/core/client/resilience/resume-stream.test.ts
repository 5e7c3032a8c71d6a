import { describe, expect, it, onTestFinished } from 'vitest'
import { describeEvent, generationOf } from '../../../../test/contracts/service/contract.ts'
import { chunks, count, numbers } from '../../../../test/support/agents/counting-agent.ts'
import { collect, deferred } from '../../../../test/support/async.ts'
import { silentLogger } from '../../../../test/support/logger.ts'
import { type Faults, faultyFetch } from '../../../../test/support/wire/faulty-fetch.ts'
import { agent } from '../../agent/agent.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { Binding } from '../../dialects/dialect.ts'
import type { DialectName } from '../../dialects/versions.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { createHandler } from '../../server/handler.ts'
import { connect } from '../connect.ts'
import type { ConnectOptions, Notice } from '../options.ts'

const quick = { minDelay: 1, maxDelay: 2 }

async function open(run: AgentFunction, faults: Faults, options: ConnectOptions = {}) {
  const handler = createHandler(agent({ name: 'Test' }, run), {
    auth: 'none',
    logger: silentLogger,
    turns: { cancelGrace: 50 },
  })
  onTestFinished(() => handler.drain(0))
  const notices: Notice[] = []
  const { fetch, requests } = faultyFetch(handler, faults)
  const onNotice = (notice: Notice) => notices.push(notice)
  const client = await connect({ fetch }, { resume: quick, polling: quick, retry: quick, onNotice, ...options })
  return {
    client,
    handler,
    requests,
    noticesOf: (type: Notice['type']) => notices.filter((notice) => notice.type === type),
  }
}

/** The text of all artifact chunks in a stream. */
function chunksIn(events: readonly StreamEvent[]): string {
  const texts = events.flatMap((event) => {
    const artifacts = event.type === 'task' ? event.task.artifacts : event.type === 'artifact' ? [event.artifact] : []
    return artifacts.flatMap(({ parts }) => parts.flatMap((part) => ('text' in part && part.text ? [part.text] : [])))
  })
  return texts.join('')
}

const everywhere = Array.from({ length: chunks + 1 }, (_, index) => [index + 1])

describe('a stream that breaks', () => {
  it('a broken stream emits the same events as an unbroken one, wherever it breaks', async () => {
    const uninterrupted = (await collect((await open(count, {})).client.stream('go'))).map(describeEvent)
    for (const cuts of [...everywhere, [1, 1, 1, 1], [3, 7, 2, 9]]) {
      const { client, noticesOf } = await open(count, { cuts })
      const events = await collect(client.stream('go'))
      expect(events.map(describeEvent)).toEqual(uninterrupted)
      expect(new Set(events.map(generationOf)).size).toBe(events.length)
      expect(noticesOf('best-effort')).toEqual([])
      expect(noticesOf('resumed')).toHaveLength(cuts.length)
    }
  })

  it('a resumed stream continues after the last event id', async () => {
    const { client, requests } = await open(count, { cuts: [5] })
    const events = await collect(client.stream('go'))
    const calls = requests.filter(({ method }) => method === 'POST')
    expect(calls.map(({ headers }) => headers.get('last-event-id'))).toEqual([
      null,
      `${generationOf(events[4] as StreamEvent)}`,
    ])
  })

  it('a stream that ends early without an error is resumed', async () => {
    const { client } = await open(count, { cuts: [2, 4], cleanly: true })
    expect(chunksIn(await collect(client.stream('go')))).toBe(numbers.join(''))
  })

  it('an event that arrives twice is emitted once', async () => {
    const uninterrupted = (await collect((await open(count, {})).client.stream('go'))).map(describeEvent)
    const { client } = await open(count, { cuts: [4], doubled: true })
    expect((await collect(client.stream('go'))).map(describeEvent)).toEqual(uninterrupted)
  })

  it('a stream fails after the configured number of tries without an event', async () => {
    const never = deferred()
    const { client } = await open(
      async (turn) => {
        await turn.status('working')
        await never.promise
      },
      { cuts: [1, 0, 0, 0, 0, 0, 0] },
      { resume: { ...quick, tries: 3 } },
    )
    await expect(collect(client.stream('go'))).rejects.toMatchObject({ name: 'A2AError', code: 'unavailable' })
    never.resolve()
  })

  it('the task of an agent that numbers no events and cuts every subscription is polled', async () => {
    const go = deferred()
    const { client } = await open(
      async (turn) => {
        await turn.status('working')
        await go.promise
        await turn.status('completed')
      },
      { cuts: [1, ...Array(20).fill(0)], unnumbered: true },
      { resume: { ...quick, tries: 3 } },
    )
    const events: string[] = []
    for await (const event of client.stream('go')) {
      events.push(describeEvent(event))
      if (events.at(-1) === 'status working') go.resolve()
    }
    expect(events).toEqual(['task submitted', 'status working', 'status completed'])
  })
})

describe('a silent stream', () => {
  it('a silent stream counts as broken and is resumed', async () => {
    const go = deferred()
    const { client, noticesOf } = await open(
      async (turn) => {
        await turn.status('working')
        await go.promise
        await turn.status('completed')
      },
      {},
      { idle: 30 },
    )
    const descriptions: string[] = []
    for await (const event of client.stream('go')) {
      descriptions.push(describeEvent(event))
      setTimeout(go.resolve, 200)
    }
    expect(descriptions).toEqual(['task submitted', 'status working', 'status completed'])
    expect(noticesOf('resumed')).not.toEqual([])
  })
})

describe('a broken stream of an agent without event numbers', () => {
  it('a resumed stream emits every chunk once and the final status, with a best-effort notice', async () => {
    for (const cuts of [...everywhere, [1, 1, 1, 1], [3, 7, 2, 9]]) {
      const { client, noticesOf } = await open(count, { cuts, unnumbered: true })
      const events = await collect(client.stream('go'))
      expect(chunksIn(events)).toBe(numbers.join(''))
      expect(describeEvent(events.at(-1) as StreamEvent)).toBe('status completed')
      expect(events.at(-1)?.isLast).toBe(true)
      expect(noticesOf('best-effort')).toHaveLength(1)
    }
  })

  it('a resumed stream emits the changes that the task shows', async () => {
    const dropped = deferred()
    const { client } = await open(
      async (turn) => {
        await turn.status('working', 'First')
        const one = turn.artifact('one')
        await one.write('a')
        await dropped.promise
        await one.write('b')
        await one.close()
        await turn.status('working', 'Second')
        await turn.data({ n: 1 }, 'two')
        await turn.status('completed', 'Done')
      },
      { cuts: [3], unnumbered: true },
    )
    const descriptions: string[] = []
    for await (const event of client.stream('go')) {
      descriptions.push(describeEvent(event))
      if (descriptions.length === 3) dropped.resolve()
    }
    expect(descriptions).toEqual([
      'task submitted',
      'status working: First',
      'artifact a',
      'artifact b, more',
      expect.stringMatching(/^artifact .*"n":1/),
      'status completed: Done',
    ])
  })
})

const endpoints: readonly (readonly [DialectName, Binding])[] = [
  ['v1.0', 'HTTP+JSON'],
  ['v0.3', 'JSONRPC'],
  ['v0.3-proto', 'HTTP+JSON'],
  ['v0.2', 'JSONRPC'],
  ['v0.1', 'JSONRPC'],
]

describe.each(endpoints)('a broken stream of %s over %s', (dialect, binding) => {
  it.each([false, true])('a resumed stream emits every chunk once (without numbers: %s)', async (unnumbered) => {
    for (const cuts of [[1], [2], [7], [chunks], [chunks + 1], [2, 3, 1]]) {
      const { client } = await open(count, { cuts, unnumbered }, { dialects: [dialect], bindings: [binding] })
      const events = await collect(client.stream('go'))
      expect(chunksIn(events)).toBe(numbers.join(''))
      expect(describeEvent(events.at(-1) as StreamEvent)).toBe('status completed')
    }
  })
})

describe('a broken subscription', () => {
  it('a broken subscription is resumed', async () => {
    const go = deferred()
    const { client } = await open(
      async (turn) => {
        await turn.status('working')
        await go.promise
        await count(turn)
      },
      { cuts: [1, 3, 5] },
    )
    const { task } = await client.send('go', { returnImmediately: true })
    const events = client.task(task?.id ?? '').subscribe()
    const first = await events.next()
    expect(describeEvent(first.value)).toBe('task working')
    go.resolve()
    expect(chunksIn(await collect(events))).toBe(numbers.join(''))
  })
})
