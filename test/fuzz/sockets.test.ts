import { describe, expect, it } from 'vitest'
import { echo } from '../support/agents/echo-agent.ts'
import { createRandom } from '../support/random.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { exchangeBytes, type RawResponse } from '../support/wire/raw-http1.ts'
import { fuzz, seed } from './fuzz.ts'
import { garbage } from './garbage.ts'
import type { RawRequest } from './malformed.ts'
import { faultOfResponse, type RawOutcome } from './response-faults.ts'

const requests = 4_000
const conversations = 2_000

async function open() {
  const complaints: unknown[] = []
  const complain = (fields: unknown) => complaints.push(fields)
  const logger = { debug() {}, info() {}, warn: complain, error: complain }
  return { ...(await startTestServer(echo.run, { logger })), complaints }
}

describe(`garbage on a socket (seed ${seed})`, () => {
  it(`is answered decently when it is HTTP: ${requests} malformed requests`, async () => {
    const { server, wire, complaints } = await open()
    const exchange = async (request: RawRequest) =>
      outcomeOf(await exchangeBytes(server.port, [head(request), request.body]))
    await fuzz({ from: 1_000_000, to: 1_000_000 + requests, exchange })
    expect(complaints).toEqual([])
    expect((await wire.sendTask('still there?')).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it(`is refused decently when it is not: ${conversations} conversations`, async () => {
    const { server, wire, complaints } = await open()
    let next = 0
    async function work(): Promise<void> {
      while (next < conversations) {
        const number = next++
        const bytes = garbage(createRandom(seed * 1_000_003 + number))
        const answer = await exchangeBytes(server.port, [bytes], { end: true })
        // A connection may also be closed without a word.
        const fault = answer.head === '' ? undefined : faultOfResponse(outcomeOf(answer))
        if (fault) throw new Error(`Conversation ${number} got ${fault}: ${Buffer.from(bytes).toString('latin1')}`)
      }
    }
    await Promise.all(Array.from({ length: 32 }, work))
    expect(complaints).toEqual([])
    expect((await wire.sendTask('still there?')).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

/** The head of a request, whatever is in it. The answer ends the connection. */
function head({ method, path, query, headers, body }: RawRequest): Uint8Array {
  const fields = { host: 'h', connection: 'close', 'content-length': `${body.length}`, ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path}${query && `?${query}`} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
}

function outcomeOf({ status, head, body }: RawResponse): RawOutcome {
  const type = /^content-type: (.*?)\r?$/m.exec(head)?.[1]
  const isChunked = /^transfer-encoding: chunked\r?$/m.test(head)
  // The lines that tell the size of a chunk are no part of the body.
  return { status, type, body: isChunked ? body.replaceAll(/(?:^|\r\n)[\da-f]+\r\n/g, '').trimEnd() : body }
}
