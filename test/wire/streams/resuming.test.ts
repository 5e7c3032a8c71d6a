import { describe, expect, it } from 'vitest'
import {
  askOnce,
  chunks,
  count,
  generationsOf,
  linesOf,
  nextOf,
  numbers,
  resultsOf,
  taskIdOf,
} from '../../support/agents/counting-agent.ts'
import { collect, deferred, until } from '../../support/async.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { isStream, readEvents, type WireEvent } from '../../support/wire/wire-client.ts'

describe('a resumed stream', () => {
  it('a resumed stream continues after any last event id', async () => {
    const { wire } = await startTestServer(count)
    const events = await collect(wire.sendStream('go'))
    for (const [index, { generation = 0 }] of events.slice(0, -1).entries()) {
      const rest = await collect(wire.subscribe(taskIdOf(events), { after: generation }))
      expect(generationsOf(rest)).toEqual(generationsOf(events.slice(index + 1)))
      expect(resultsOf(rest)).toEqual(resultsOf(events.slice(index + 1)))
    }
  })

  it('a resumed stream skips the callers’ messages, which no stream contains', async () => {
    const { wire } = await startTestServer(askOnce)
    const events = await collect(wire.sendStream('begin'))
    const id = taskIdOf(events)
    const reader = wire.subscribe(id)
    const { generation: paused = 0 } = await nextOf(reader)
    await wire.send('this one', { taskId: id })
    const rest = await collect(reader)
    expect(linesOf(rest)).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'])
    expect(generationsOf(rest)).toEqual([paused + 2, paused + 3])
    // Resuming also works after the generation of the message itself, which no stream contains.
    for (const after of [paused, paused + 1]) {
      expect(resultsOf(await collect(wire.subscribe(id, { after })))).toEqual(resultsOf(rest))
    }
  })

  it('the response to a resumed stream starts before the next event', async () => {
    const { server, wire } = await startTestServer(askOnce)
    const events = await collect(wire.sendStream('begin'))
    const id = taskIdOf(events)
    const headers = { 'content-type': 'application/json', 'last-event-id': `${events.at(-1)?.generation}` }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } })
    const overRpc = await fetch(server.url, { method: 'POST', headers, body })
    const overRest = await fetch(`${server.url}/tasks/${id}:subscribe`, { headers })
    expect([overRpc, overRest].map((response) => [response.status, isStream(response)])).toEqual([
      [200, true],
      [200, true],
    ])
    await wire.send('this one', { taskId: id })
    for (const response of [overRpc, overRest]) expect(await response.text()).toContain('TASK_STATE_COMPLETED')
    const lost = await fetch(`${server.url}/tasks/nowhere:subscribe`, { headers })
    expect(lost.status).toBe(404)
  })

  it('the last event id may be in the query', async () => {
    const { server, wire } = await startTestServer(count)
    const id = taskIdOf(await collect(wire.sendStream('go')))
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${server.url}/?lastEventId=10`, { method: 'POST', headers, body })
    expect((await collect(readEvents(response))).at(0)?.generation).toBe(11)
  })

  it('a client that disconnects and resumes sees every event once', async () => {
    const dropped = deferred()
    const { wire } = await startTestServer(async (turn) => {
      const written = turn.artifact('numbers')
      for (const number of numbers) {
        if (number === '10') await dropped.promise
        await written.write(number)
      }
      await turn.status('completed')
    })
    const seen: WireEvent[] = []
    for await (const event of wire.sendStream('go')) if (seen.push(event) === 3) break
    dropped.resolve()

    seen.push(...(await collect(wire.subscribe(taskIdOf(seen), { after: seen.at(-1)?.generation ?? 0 }))))
    const generations = generationsOf(seen)
    expect(generations).toEqual([...new Set(generations)].sort((one = 0, other = 0) => one - other))
    expect(linesOf(seen).filter((line) => line !== '')).toEqual([
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
      ...numbers,
      'TASK_STATE_COMPLETED',
    ])
  })
})

describe('a streaming send that is repeated with its idempotency key', () => {
  const sending = { messageId: 'm', headers: { 'idempotency-key': 'k' } }

  it('a repeated send gets the same stream, or the rest of it', async () => {
    const { wire } = await startTestServer(count)
    const [one = [], two = []] = await Promise.all(
      Array.from({ length: 2 }, () => collect(wire.sendStream('go', sending))),
    )
    expect(one).toHaveLength(chunks + 3)
    expect(resultsOf(two)).toEqual(resultsOf(one))
    const rest = await collect(wire.sendStream('go', { ...sending, after: 10 }))
    expect(resultsOf(rest)).toEqual(resultsOf(one.slice(9)))
  })

  it('a repeated send with the last event id or a later one is rejected', async () => {
    const { wire } = await startTestServer(count)
    const end = (await collect(wire.sendStream('go', sending))).at(-1)?.generation ?? 0
    const again = (after: number) => collect(wire.sendStream('go', { ...sending, after }))
    await expect(again(end)).rejects.toThrow('"code":-32004')
    await expect(again(end + 1)).rejects.toThrow('"code":-32602')
  })

  it('a new send with a last event id gets the stream from its beginning', async () => {
    const { wire } = await startTestServer(count)
    // A client that always sends its last event id, even of another stream, loses no event.
    const events = await collect(wire.sendStream('go', { ...sending, after: 1_000 }))
    expect(linesOf(events)).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', ...numbers, 'TASK_STATE_COMPLETED'])
  })
})

describe('a disconnected caller', () => {
  it('a task continues when its blocking caller disconnects', async () => {
    const left = deferred()
    const { wire, server } = await startTestServer(async (turn) => {
      await turn.status('working')
      await left.promise
    })
    const caller = new AbortController()
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }], contextId: 'c' } },
    })
    const headers = { 'content-type': 'application/json' }
    const sent = fetch(server.url, { method: 'POST', headers, body, signal: caller.signal })
    const states = async () => {
      const { tasks } = await wire.result<{ tasks: { status: { state: string } }[] }>('ListTasks', { contextId: 'c' })
      return tasks.map(({ status }) => status.state)
    }
    await until(async () => (await states()).length === 1)
    caller.abort()
    await expect(sent).rejects.toThrow()
    left.resolve()
    await until(async () => (await states())[0] === 'TASK_STATE_COMPLETED')
  })
})
