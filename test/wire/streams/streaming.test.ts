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
} from '../../support/agents/counting-agent.ts'
import { collect } from '../../support/async.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { isStream, sendParams, textsOf } from '../../support/wire/wire-client.ts'

describe('a stream', () => {
  it('a stream starts with the task and continues with every change, each with its generation as id', async () => {
    const { wire } = await startTestServer(count)
    const events = await collect(wire.sendStream('go'))
    expect(linesOf(events)).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', ...numbers, 'TASK_STATE_COMPLETED'])
    // Generation 1 is the caller's message, which streams leave out.
    expect(generationsOf(events)).toEqual(events.map((_, index) => index + 2))
  })

  it('the server sets append and lastChunk of artifacts', async () => {
    const { wire } = await startTestServer(count)
    const updates = (await collect(wire.sendStream('go'))).flatMap(({ result }) => result?.artifactUpdate ?? [])
    expect(updates.map(({ append, lastChunk }) => [append, lastChunk])).toEqual([
      [undefined, undefined],
      ...Array.from({ length: chunks - 2 }, () => [true, undefined]),
      [true, true],
    ])
    expect(new Set(updates.map(({ artifact }) => artifact.artifactId)).size).toBe(1)
  })

  it('every reader gets the same stream', async () => {
    const { wire } = await startTestServer(askOnce)
    const { id } = await wire.sendTask('begin')
    const readers = [wire.subscribe(id), wire.subscribe(id)]
    const seen = await Promise.all(readers.map(async (reader) => [await nextOf(reader)]))
    // Both readers have received their first event.
    await wire.send('this one', { taskId: id })
    for (const [index, reader] of readers.entries()) seen[index]?.push(...(await collect(reader)))
    expect(linesOf(seen[0] ?? []).at(-1)).toBe('TASK_STATE_COMPLETED')
    expect(resultsOf(seen[0] ?? [])).toEqual(resultsOf(seen[1] ?? []))
    expect(generationsOf(seen[0] ?? [])).toEqual(generationsOf(seen[1] ?? []))
  })

  it('a reply without a task is a stream of one event', async () => {
    const { wire } = await startTestServer(async () => 'hello')
    const events = await collect(wire.sendStream('go'))
    expect(events).toMatchObject([{ result: { message: { parts: [{ text: 'hello' }] } } }])
    expect(generationsOf(events)).toEqual([undefined])
  })
})

describe('a stream over HTTP', () => {
  it('the response headers disable caching and buffering', async () => {
    const { wire } = await startTestServer(count)
    const response = await wire.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: sendParams('go'),
    })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    await response.body?.cancel()
  })

  it('an idle stream sends heartbeats', async () => {
    const { wire } = await startTestServer(askOnce, { http: { heartbeat: 10 } })
    const { id } = await wire.sendTask('begin')
    const response = await wire.post({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } })
    let text = ''
    for await (const chunk of textsOf(response)) {
      text += chunk
      if (text.split(': keep-alive\n\n').length > 3) break
    }
    // On a busy machine the first event may be later than a heartbeat.
    const withoutHeartbeats = text.replaceAll(': keep-alive\n\n', '')
    expect(withoutHeartbeats).toMatch(/^: follows \d+\nid: \d+\ndata: .*\n\n/)
  })

  it('an error before the first event is a plain response, not a stream', async () => {
    const { wire } = await startTestServer(count)
    const ended = await wire.sendTask('go')
    const failures = [
      [{ id: 'unknown' }, {}, -32001],
      [{ id: ended.id }, {}, -32004],
      [{ id: ended.id }, { 'last-event-id': '1000' }, -32602],
      [{ id: ended.id }, { 'last-event-id': 'the third' }, -32602],
      [{}, {}, -32602],
    ] as const
    for (const [params, headers, code] of failures) {
      const response = await wire.post({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params }, headers)
      expect(isStream(response)).toBe(false)
      expect(await response.json()).toMatchObject({ id: 1, error: { code } })
    }
  })

  it('events that are ready together share writes', async () => {
    const { wire } = await startTestServer(count)
    const { id } = await wire.sendTask('go')
    const response = await wire.post(
      { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } },
      { 'last-event-id': '1' },
    )
    const texts = await collect(textsOf(response))
    expect(texts.join('').match(/^data: /gm)).toHaveLength(chunks + 3)
    expect(texts.length).toBeLessThan(chunks / 3)
  })
})
