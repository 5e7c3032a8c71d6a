import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/core/client/client.ts'
import { connect } from '../../src/core/client/connect.ts'
import type { ConnectOptions } from '../../src/core/client/options.ts'
import { describeEvent } from '../contracts/service/contract.ts'
import { collect } from '../support/async.ts'
import { type PeerRoutes, respondWith, startHttpServer, startScriptedPeer } from '../support/servers/http-server.ts'

const delays = { minDelay: 1, maxDelay: 2 }
const quick = { tries: 2, ...delays }
const timestamp = '2026-05-01T08:00:00.000Z'

async function open(answer: NonNullable<PeerRoutes['answer']>, options: ConnectOptions = {}): Promise<Client> {
  return await connect(await startScriptedPeer({ answer }), {
    retry: quick,
    resume: quick,
    polling: delays,
    ...options,
  })
}

const status = (state: string) => ({ state: `TASK_STATE_${state}`, timestamp })
const task = (state = 'WORKING') => ({ task: { id: 't', contextId: 'c', status: status(state) } })
const update = (state: string) => ({ statusUpdate: { taskId: 't', contextId: 'c', status: status(state) } })
const chunk = (text: string) => ({
  artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] }, append: true },
})

function event(result: object, id?: number): string {
  const data = JSON.stringify({ jsonrpc: '2.0', result })
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
}

/** Answers every call with a stream of this text, which then ends or stays open. */
function streaming(text: string, { end = true } = {}): NonNullable<PeerRoutes['answer']> {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text)
    if (end) response.end()
  }
}

/** Writes as long as the client reads. */
function pour(response: ServerResponse, text: () => string): void {
  const more = () => {
    while (!response.destroyed && response.write(text()));
  }
  response.on('drain', more)
  more()
}

const tooMuch = { code: 'payload-too-large', reason: 'answer-too-large', hint: expect.any(String) }

describe('responses', () => {
  it.each([
    ['noise', Buffer.from([0xff, 0xfe, 0x00, 0x80]).toString('latin1'), 'not-json'],
    ['incomplete JSON', '{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t"', 'not-json'],
    ['HTML', '<html><body>Hi</body></html>', 'html'],
    ['a list', '[]', 'not-a2a'],
    ['a number', '7', 'not-a2a'],
    ['nothing', '', 'not-json'],
    ['too deeply nested JSON', '['.repeat(100_000), 'not-json'],
  ])('a response of %s is rejected', async (_, body, reason) => {
    const client = await open(respondWith(200, body))
    await expect(client.send('x')).rejects.toMatchObject({ name: 'A2AError', code: 'invalid-agent-response', reason })
  })

  it('a response without a required field is rejected, and the field is named', async () => {
    const client = await open(respondWith(200, { jsonrpc: '2.0', result: { task: { id: 't' } } }))
    await expect(client.send('x')).rejects.toMatchObject({
      code: 'invalid-agent-response',
      message: expect.stringContaining('task.status'),
    })
  })

  it('an endless response is not read beyond the limit', async () => {
    let written = 0
    const client = await open(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        pour(response, () => {
          written += 65_536
          return ' '.repeat(65_536)
        })
      },
      { answerLimit: 1_000_000 },
    )
    await expect(client.send('x')).rejects.toMatchObject(tooMuch)
    expect(written).toBeLessThan(20_000_000)
  })

  it('a trickling response times out', async () => {
    const client = await open((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 5)
      response.on('close', () => clearInterval(timer))
    })
    await expect(client.send('x', { timeout: 100 })).rejects.toMatchObject({ code: 'timeout' })
  })

  it('a missing response times out', async () => {
    const client = await open(() => {})
    await expect(client.send('x', { timeout: 50 })).rejects.toMatchObject({ code: 'timeout' })
    await expect(collect(client.stream('x', { timeout: 50 }))).rejects.toMatchObject({ code: 'timeout' })
  })

  it('a redirect loop is rejected', async () => {
    const client = await open((request, response) => void response.writeHead(308, { location: request.url }).end())
    await expect(client.send('x')).rejects.toMatchObject({ reason: 'redirect-loop' })
  })
})

describe('lists', () => {
  const lists: readonly (readonly [string, (client: Client) => AsyncIterable<unknown>])[] = [
    ['tasks', (client) => client.listTasks()],
    ['push configs', (client) => client.task('t').push.list()],
  ]

  it.each(lists)('a list of %s with endless empty pages is rejected', async (_, list) => {
    let pages = 0
    const client = await open((request, response) => {
      const result = { tasks: [], configs: [], pageSize: 0, totalSize: 0, nextPageToken: `${++pages}` }
      respondWith(200, { jsonrpc: '2.0', result })(request, response)
    })
    await expect(collect(list(client))).rejects.toMatchObject({
      code: 'invalid-agent-response',
      reason: 'endless-list',
      hint: expect.any(String),
    })
  })

  it.each(lists)('a list of %s whose page token repeats ends', async (_, list) => {
    const result = { tasks: [], configs: [], pageSize: 0, totalSize: 0, nextPageToken: 'again' }
    const client = await open(respondWith(200, { jsonrpc: '2.0', result }))
    expect(await collect(list(client))).toEqual([])
  })
})

describe('cards', () => {
  it('an endless card is not read beyond the limit', async () => {
    const origin = await startHttpServer((_, response) => pour(response, () => ' '.repeat(65_536)))
    await expect(connect(origin)).rejects.toMatchObject(tooMuch)
  })

  it('a missing card times out', async () => {
    const origin = await startHttpServer(() => {})
    await expect(connect(origin, { timeout: 50 })).rejects.toMatchObject({ code: 'timeout' })
  })

  it('a redirect loop is rejected', async () => {
    const origin = await startHttpServer(
      (request, response) => void response.writeHead(302, { location: request.url }).end(),
    )
    await expect(connect(origin, { retry: quick })).rejects.toMatchObject({ reason: 'redirect-loop' })
  })
})

describe('streams', () => {
  it.each([
    ['noise', 'data: \u0000\u0001\n\n'],
    ['HTML', 'data: <html></html>\n\n'],
    ['incomplete JSON', 'data: {"jsonrpc":"2.0"\n\n'],
  ])('a stream with an event of %s is rejected', async (_, text) => {
    const client = await open(streaming(text))
    await expect(collect(client.stream('x'))).rejects.toMatchObject({
      code: 'invalid-agent-response',
      reason: 'broken-event',
    })
  })

  it('a stream with an unknown event is rejected', async () => {
    const client = await open(streaming(event({ surprise: 1 })))
    await expect(collect(client.stream('x'))).rejects.toMatchObject({ code: 'invalid-agent-response' })
  })

  it('an event of 50 MB is not read beyond the limit', async () => {
    const client = await open((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: "')
      let left = 50 * 16
      pour(response, () => {
        if (left-- <= 0) response.end()
        return 'x'.repeat(65_536)
      })
    })
    const before = process.memoryUsage().rss
    await expect(collect(client.stream('x'))).rejects.toMatchObject(tooMuch)
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  it('a stream that breaks within an event is resumed, and repeats no event', async () => {
    let calls = 0
    const client = await open((_, response) => {
      const texts = [
        `${event(task())}${event(chunk('a'))}data: {"jsonrpc":"2.0","id":1,"resu`,
        event({
          task: { ...task('COMPLETED').task, artifacts: [{ artifactId: 'a', parts: [{ text: 'a' }, { text: 'b' }] }] },
        }),
      ]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(texts[calls++])
      setTimeout(() => (calls === 1 ? response.destroy() : response.end()), 20)
    })
    expect((await collect(client.stream('x'))).map(describeEvent)).toEqual([
      'task working',
      'artifact a, more',
      'artifact b, more',
      'status completed',
    ])
  })

  it('a last event without an empty line is read', async () => {
    const client = await open(streaming(`${event(task())}${event(update('COMPLETED')).trimEnd()}`))
    expect((await collect(client.stream('x'))).map(describeEvent)).toEqual(['task working', 'status completed'])
  })

  it('repeated events are yielded once', async () => {
    const events = [event(task(), 2), event(chunk('a'), 3), event(chunk('a'), 3), event(task(), 2)]
    const client = await open(streaming([...events, event(update('COMPLETED'), 4)].join('')))
    expect((await collect(client.stream('x'))).map(describeEvent)).toEqual([
      'task working',
      'artifact a, more',
      'status completed',
    ])
  })

  it('events out of order are rejected', async () => {
    const events = [event(task(), 2), event(chunk('b'), 5), event(chunk('a'), 4)]
    const client = await open(streaming(events.join('')))
    await expect(collect(client.stream('x'))).rejects.toMatchObject({
      code: 'invalid-agent-response',
      reason: 'out-of-order',
    })
  })

  it('events after the end of the task are ignored', async () => {
    const text = `${event(task())}${event(update('COMPLETED'))}${event(update('WORKING'))}`
    const client = await open(streaming(text, { end: false }))
    expect((await collect(client.stream('x'))).map(describeEvent)).toEqual(['task working', 'status completed'])
  })

  it('an endless stream is not buffered', async () => {
    let number = 2
    const client = await open((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event(task(), number))
      pour(response, () => event(chunk('x'.repeat(10_000)), ++number))
    })
    let read = 0
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    for await (const _ of client.stream('x')) if (++read > 20_000) break
    globalThis.gc?.()
    // The stream was 200 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100_000_000)
  })

  it('a stream of comments times out', async () => {
    const client = await open((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write(': still here\n\n'), 5)
      response.on('close', () => clearInterval(timer))
    })
    await expect(collect(client.stream('x', { timeout: 100 }))).rejects.toMatchObject({ code: 'timeout' })
  })

  it('a resume that must wait for an hour is rejected with the delay', async () => {
    let calls = 0
    const client = await open((request, response) => {
      if (calls++ > 0) return respondWith(503, '', { 'retry-after': '3600' })(request, response)
      streaming(event(task()))(request, response)
    })
    await expect(collect(client.stream('x'))).rejects.toMatchObject({ code: 'unavailable', retryAfter: 3600 })
    expect(calls).toBe(2)
  })

  it('an empty stream is rejected, because the message may have arrived', async () => {
    const client = await open(streaming(''))
    await expect(collect(client.stream('x'))).rejects.toMatchObject({ reason: 'may-have-run' })
  })

  it('a stream that keeps ending early is rejected, if the task cannot be polled either', async () => {
    const client = await open(streaming(event(task())))
    await expect(collect(client.stream('x'))).rejects.toMatchObject({
      code: 'invalid-agent-response',
      reason: 'not-json',
    })
  })

  it('a stream may have any content type', async () => {
    for (const type of ['text/plain', 'application/octet-stream', '']) {
      const client = await open((_, response) => {
        response.writeHead(200, type === '' ? {} : { 'content-type': type })
        response.end(`: hi\n\n${event(task('COMPLETED'))}`)
      })
      expect((await collect(client.stream('x'))).map(describeEvent)).toEqual(['task completed'])
    }
  })

  it('an event may have several data lines, any line ends and a BOM', async () => {
    const data = JSON.stringify({ jsonrpc: '2.0', result: task('COMPLETED') }, null, 2)
    for (const end of ['\n', '\r\n', '\r']) {
      const lines = data.split('\n').map((line) => `data:${line}`)
      const client = await open(streaming(`\uFEFFevent: message${end}${lines.join(end)}${end}${end}`))
      expect((await collect(client.stream('x'))).map(describeEvent)).toEqual(['task completed'])
    }
  })
})

describe('REST', () => {
  const restCard = (origin: string) => ({
    name: 'Agent',
    supportedInterfaces: [{ url: `${origin}/a2a`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
  })
  const openRest = async (answer: NonNullable<PeerRoutes['answer']>) =>
    await connect(await startScriptedPeer({ card: restCard, answer }), { retry: quick, resume: quick, polling: delays })
  const restEvent = (result: object, id?: number) =>
    `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(result)}\n\n`

  it.each([
    ['noise', Buffer.from([0xff, 0xfe, 0x00, 0x80]).toString('latin1'), 'not-json'],
    ['incomplete JSON', '{"task":{"id":"t"', 'not-json'],
    ['HTML', '<html><body>Hi</body></html>', 'html'],
    ['a list', '[]', undefined],
    ['nothing', '', undefined],
  ])('a response of %s is rejected', async (_, body, reason) => {
    const client = await openRest(respondWith(200, body))
    await expect(client.send('x')).rejects.toMatchObject({
      name: 'A2AError',
      code: 'invalid-agent-response',
      ...(reason && { reason }),
    })
  })

  it.each([
    ['noise', 'data: \u0000\u0001\n\n', 'broken-event'],
    ['incomplete JSON', 'data: {"task"\n\n', 'broken-event'],
    [
      'events out of order',
      [restEvent(task(), 2), restEvent(chunk('b'), 5), restEvent(chunk('a'), 4)].join(''),
      'out-of-order',
    ],
  ])('a stream with %s is rejected', async (_, text, reason) => {
    const client = await openRest(streaming(text))
    await expect(collect(client.stream('x'))).rejects.toMatchObject({ code: 'invalid-agent-response', reason })
  })

  it('repeated events are yielded once', async () => {
    const events = [
      restEvent(task(), 2),
      restEvent(chunk('a'), 3),
      restEvent(chunk('a'), 3),
      restEvent(update('COMPLETED'), 4),
    ]
    const client = await openRest(streaming(events.join('')))
    expect((await collect(client.stream('x'))).map(describeEvent)).toEqual([
      'task working',
      'artifact a, more',
      'status completed',
    ])
  })

  it('an event of 50 MB is not read beyond the limit', async () => {
    const client = await openRest((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: "')
      let left = 50 * 16
      pour(response, () => {
        if (left-- <= 0) response.end()
        return 'x'.repeat(65_536)
      })
    })
    await expect(collect(client.stream('x'))).rejects.toMatchObject(tooMuch)
  })

  it('a redirect loop is rejected', async () => {
    const client = await openRest((request, response) => void response.writeHead(308, { location: request.url }).end())
    await expect(client.send('x')).rejects.toMatchObject({ reason: 'redirect-loop' })
  })
})
