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
} from '../support/agents/counting-agent.ts'
import { collect } from '../support/async.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { isStream, sendParams, textsOf } from '../support/wire/wire-client.ts'

describe('a stream', () => {
  it('tells the task first, then every change, each with its generation as id', async () => {
    const { wire } = await startTestServer(count)
    const events = await collect(wire.sendStream('go'))
    expect(linesOf(events)).toEqual(['TASK_STATE_WORKING', ...numbers, '', 'TASK_STATE_COMPLETED'])
    // Generation 1 is the message itself, of which a stream does not tell.
    expect(generationsOf(events)).toEqual(events.map((_, index) => index + 2))
  })

  it('owns the flags of its artifacts', async () => {
    const { wire } = await startTestServer(count)
    const updates = (await collect(wire.sendStream('go'))).flatMap(({ result }) => result?.artifactUpdate ?? [])
    expect(updates.map(({ append, lastChunk }) => [append, lastChunk])).toEqual([
      [undefined, undefined],
      ...Array.from({ length: chunks - 1 }, () => [true, undefined]),
      [true, true],
    ])
    expect(new Set(updates.map(({ artifact }) => artifact.artifactId)).size).toBe(1)
  })

  it('is the same for everybody who reads it', async () => {
    const { wire } = await startTestServer(askOnce)
    const { id } = await wire.sendTask('begin')
    const readers = [wire.subscribe(id), wire.subscribe(id)]
    const seen = await Promise.all(readers.map(async (reader) => [await nextOf(reader)]))
    // Both are reading by now.
    await wire.send('this one', { taskId: id })
    for (const [index, reader] of readers.entries()) seen[index]?.push(...(await collect(reader)))
    expect(linesOf(seen[0] ?? []).at(-1)).toBe('TASK_STATE_COMPLETED')
    expect(resultsOf(seen[0] ?? [])).toEqual(resultsOf(seen[1] ?? []))
    expect(generationsOf(seen[0] ?? [])).toEqual(generationsOf(seen[1] ?? []))
  })

  it('of an answer that is a message is that one event', async () => {
    const { wire } = await startTestServer(async () => 'hello')
    const events = await collect(wire.sendStream('go'))
    expect(events).toMatchObject([{ result: { message: { parts: [{ text: 'hello' }] } } }])
    expect(generationsOf(events)).toEqual([undefined])
  })
})

describe('the way of a stream over HTTP', () => {
  it('is kept open and free of buffers by its headers', async () => {
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

  it('shows signs of life while nothing happens', async () => {
    const { wire } = await startTestServer(askOnce, { http: { heartbeat: 10 } })
    const { id } = await wire.sendTask('begin')
    const response = await wire.post({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } })
    let text = ''
    for await (const chunk of textsOf(response)) {
      text += chunk
      if (text.split(': keep-alive\n\n').length > 3) break
    }
    expect(text).toMatch(/^: follows \d+\nid: \d+\ndata: .*\n\n(: keep-alive\n\n){3}/)
  })

  it('begins only when there is something to tell: an early failure is an error, not a stream', async () => {
    const { wire } = await startTestServer(count)
    const ended = await wire.sendTask('go')
    const failures = [
      [{ id: 'nobody-knows' }, {}, -32001],
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

  it('takes fewer writes than there are events that are ready together', async () => {
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
