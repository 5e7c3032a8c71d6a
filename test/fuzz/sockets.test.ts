import { describe, expect, it } from 'vitest'
import { echo } from '../support/agents/echo-agent.ts'
import { createRandom } from '../support/random.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { exchangeBytes, type RawResponse } from '../support/wire/raw-http1.ts'
import { fuzz, seed } from './fuzz.ts'
import { createGarbage } from './garbage.ts'
import type { RawRequest } from './malformed-request.ts'
import { faultOfResponse, type RawOutcome } from './response-faults.ts'

const requests = 4_000
const connections = 2_000

async function startEchoServer() {
  const logged: unknown[] = []
  const record = (fields: unknown) => logged.push(fields)
  const logger = { debug() {}, info() {}, warn: record, error: record }
  return { ...(await startTestServer(echo.run, { logger })), logged }
}

describe(`garbage on a socket (seed ${seed})`, () => {
  it(`${requests} malformed HTTP requests get valid responses`, async () => {
    const { server, wire, logged } = await startEchoServer()
    const exchange = async (request: RawRequest) =>
      outcomeOf(await exchangeBytes(server.port, [head(request), request.body]))
    await fuzz({ from: 1_000_000, to: 1_000_000 + requests, exchange })
    expect(logged).toEqual([])
    expect((await wire.sendTask('still there?')).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it(`${connections} connections with garbage get valid responses or are closed`, async () => {
    const { server, wire, logged } = await startEchoServer()
    let next = 0
    async function worker(): Promise<void> {
      while (next < connections) {
        const number = next++
        const bytes = createGarbage(createRandom(seed * 1_000_003 + number))
        const response = await exchangeBytes(server.port, [bytes], { end: true })
        // The server may close a connection without a response.
        const fault = response.head === '' ? undefined : faultOfResponse(outcomeOf(response))
        if (fault) throw new Error(`Connection ${number} got ${fault}: ${Buffer.from(bytes).toString('latin1')}`)
      }
    }
    await Promise.all(Array.from({ length: 32 }, worker))
    expect(logged).toEqual([])
    expect((await wire.sendTask('still there?')).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

/** Encodes the head of a request without validation. The server closes the connection after its response. */
function head({ method, path, query, headers, body }: RawRequest): Uint8Array {
  const fields = { host: 'h', connection: 'close', 'content-length': `${body.length}`, ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path}${query && `?${query}`} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
}

function outcomeOf({ status, head, body }: RawResponse): RawOutcome {
  const type = /^content-type: (.*?)\r?$/m.exec(head)?.[1]
  const isChunked = /^transfer-encoding: chunked\r?$/m.test(head)
  // Chunk size lines are not part of the body.
  return { status, type, body: isChunked ? body.replaceAll(/(?:^|\r\n)[\da-f]+\r\n/g, '').trimEnd() : body }
}
