import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agent/turn.ts'
import { jwt } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.ts'
import { bearer } from '../../src/entries/client-auth.ts'
import { audience, startIssuer } from '../support/auth/token-issuer.ts'
import { grpcClient, readAll } from '../support/grpc/grpc-client.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { readEvents, type WireEvent } from '../support/wire/wire-client.ts'

/** An agent that requires a token and writes words until the test calls `stop`. */
async function start() {
  const issuer = await startIssuer()
  const corp = jwt({ issuer: issuer.url, audience, keys: { url: issuer.keysUrl }, clockSkew: 0 })
  const stopped = new AbortController()
  async function run(turn: Turn): Promise<string> {
    const words = turn.artifact('words')
    for (let n = 1; !stopped.signal.aborted && !turn.signal.aborted; n++) {
      await words.write(`${n} `)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return 'done'
  }
  const { server, wire } = await startTestServer(run, { auth: { schemes: { corp } }, grpc: true })
  const token = (seconds: number) => issuer.token({ exp: Math.ceil(Date.now() / 1000) + seconds })
  return {
    server,
    wire,
    stop: () => stopped.abort(),
    authorize: async (seconds: number) => `Bearer ${await token(seconds)}`,
    token,
  }
}

/** The events of a stream, and its duration in milliseconds. */
async function read(events: AsyncIterable<WireEvent>) {
  const startTime = performance.now()
  const received: WireEvent[] = []
  for await (const event of events) received.push(event)
  return { received, duration: performance.now() - startTime }
}

const isCompleted = ({ result }: WireEvent) => result?.statusUpdate?.status.state === 'TASK_STATE_COMPLETED'

describe('the expiry of a token', () => {
  it('a JSON-RPC stream ends cleanly and can be resumed with a new token', async () => {
    const { wire, authorize, stop } = await start()
    const first = await read(wire.sendStream('go', { headers: { authorization: await authorize(1) } }))
    expect(first.duration).toBeLessThan(4_000)
    expect(first.received.some(({ error }) => error !== undefined)).toBe(false)
    expect(first.received.some(isCompleted)).toBe(false)
    const taskId = first.received[0]?.result?.task?.id ?? ''
    const after = first.received.at(-1)?.generation ?? 0
    const expired = { authorization: await authorize(-5) }
    await expect(read(wire.subscribe(taskId, { after, headers: expired }))).rejects.toThrow('not accepted')
    const second = wire.subscribe(taskId, { after, headers: { authorization: await authorize(60) } })
    setTimeout(stop, 100)
    const { received } = await read(second)
    expect(received[0]?.generation).toBe(after + 1)
    expect(received.some(isCompleted)).toBe(true)
  })

  it('a REST stream ends', async () => {
    const { server, authorize, stop } = await start()
    const response = await fetch(`${server.url}/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: await authorize(1) },
      body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } }),
    })
    const { received, duration } = await read(readEvents(response))
    expect(duration).toBeLessThan(4_000)
    expect(received.length).toBeGreaterThan(1)
    stop()
  })

  it('a gRPC stream ends with status OK', async () => {
    const { server, authorize, stop } = await start()
    const request = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } }
    const metadata = { authorization: await authorize(1) }
    const { messages, status } = await readAll(
      grpcClient(server.port).stream('lf.a2a.v1.A2AService/SendStreamingMessage', request, { metadata }),
    )
    expect(messages.length).toBeGreaterThan(1)
    expect(status.code).toBe(0)
    stop()
  })

  it('a blocking call still gets its response', async () => {
    const { wire, authorize, stop } = await start()
    const sent = wire.sendTask('go', {}, { authorization: await authorize(1) })
    setTimeout(stop, 2_500)
    expect((await sent).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('a client that obtains new tokens reads on without a gap', async () => {
    const { server, token, stop } = await start()
    let tokens = 0
    const secret = () => {
      tokens++
      return token(1)
    }
    const client = await connect(server.url, { auth: [bearer(secret)], resume: { minDelay: 1, maxDelay: 5 } })
    let text = ''
    for await (const event of client.stream('go')) {
      if (event.type === 'artifact')
        text += event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
      if (tokens >= 4) stop()
    }
    const numbers = text.trim().split(' ').map(Number)
    expect(tokens).toBeGreaterThanOrEqual(4)
    expect(numbers).toEqual(numbers.map((_, n) => n + 1))
  })
})
