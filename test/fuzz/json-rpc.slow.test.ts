import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { BodyTooLarge, type Incoming, isComplete } from '../../src/core/http/exchange.ts'
import { createHandler, type Handler } from '../../src/core/server/handler.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { echo } from '../support/agents/echo-agent.ts'
import { until } from '../support/async.ts'
import { fuzz, rounds, seed } from './fuzz.ts'
import type { RawRequest } from './malformed-request.ts'
import type { RawOutcome } from './response-faults.ts'

/** Keeps few ended tasks, so that stored tasks do not look like a leak. */
function createEchoHandler() {
  const logged: object[] = []
  const record = (fields: object) => logged.push(fields)
  const logger = { debug() {}, info() {}, warn: record, error: record }
  return {
    handler: createHandler(echo, { auth: 'none', log: createMemoryLog({ keepEnded: 100 }), logger }),
    logged,
  }
}

describe(`malformed requests (seed ${seed})`, () => {
  it(`${rounds} malformed requests get valid responses and leak nothing`, async () => {
    const handles = process.getActiveResourcesInfo().length
    const { handler, logged } = createEchoHandler()
    const exchange = (request: RawRequest) => throughExchange(handler, request)
    await fuzz({ from: 0, to: rounds / 3, exchange })
    const heap = heapUsed()
    await fuzz({ from: rounds / 3, to: rounds, exchange })
    expect(heapUsed() - heap).toBeLessThan(4 * 2 ** 20)
    expect(logged).toEqual([])
    await handler.drain(0)
    await until(() => process.getActiveResourcesInfo().length <= handles)
  }, 300_000)

  it('malformed Request objects get valid responses', async () => {
    const { handler, logged } = createEchoHandler()
    const to = rounds + rounds / 20
    await fuzz({ from: rounds, to, exchange: (request) => throughFetch(handler, request) })
    expect(logged).toEqual([])
    await handler.drain(0)
  })
})

async function throughExchange(handler: Handler, request: RawRequest): Promise<RawOutcome> {
  const { headers: requestHeaders, body: bytes, ...line } = request
  const caller = new AbortController()
  const incoming: Incoming = {
    ...line,
    base: '',
    secure: false,
    certificate: () => undefined,
    header: (name) => requestHeaders[name],
    async bytes(limit) {
      if (bytes.length > limit) throw new BodyTooLarge(limit)
      return bytes
    },
    signal: caller.signal,
  }
  const { status, headers, body = '' } = await handler.exchange(incoming)
  const type = headers['content-type']
  if (isComplete(body)) return { status, type, body: [body].flat().join('') }
  // The caller disconnects after the first chunk of a stream.
  const chunks = body[Symbol.asyncIterator]()
  const { value = '' } = await chunks.next()
  caller.abort()
  await chunks.return?.()
  return { status, type, body: value }
}

async function throughFetch(handler: Handler, request: RawRequest): Promise<RawOutcome> {
  const { method, path, query, body } = request
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, value)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const url = `http://h${path}${query && `?${query}`}`
  const response = await handler.fetch(new Request(url, { method, headers, ...(hasBody && { body }) }))
  const reader = response.body?.getReader()
  const chunk = await reader?.read()
  await reader?.cancel()
  const type = response.headers.get('content-type') ?? undefined
  return { status: response.status, type, body: new TextDecoder().decode(chunk?.value) }
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  collectGarbage()
  return process.memoryUsage().heapUsed
}
