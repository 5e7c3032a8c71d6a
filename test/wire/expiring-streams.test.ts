import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agent/turn.ts'
import { jwt } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.ts'
import { bearer } from '../../src/entries/client-auth.ts'
import { audience, startIssuer } from '../support/auth/token-issuer.ts'
import { grpcClient, readAll } from '../support/grpc/grpc-client.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { readEvents, type WireEvent } from '../support/wire/wire-client.ts'

/** An agent that writes words until it is told to stop, for those who have a token. */
async function open() {
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
    authorize: async (s: number) => `Bearer ${await token(s)}`,
    token,
  }
}

/** What came, and how long it took until the stream was over. */
async function read(events: AsyncIterable<WireEvent>) {
  const begun = performance.now()
  const all: WireEvent[] = []
  for await (const event of events) all.push(event)
  return { all, took: performance.now() - begun }
}

const isOver = ({ result }: WireEvent) => result?.statusUpdate?.status.state === 'TASK_STATE_COMPLETED'

describe('a stream ends with the token of its reader', () => {
  it('over JSON-RPC, cleanly, and goes on with another token where it was', async () => {
    const { wire, authorize, stop } = await open()
    const first = await read(wire.sendStream('go', { headers: { authorization: await authorize(1) } }))
    expect(first.took).toBeLessThan(4_000)
    expect(first.all.some(({ error }) => error !== undefined)).toBe(false)
    expect(first.all.some(isOver)).toBe(false)
    const taskId = first.all[0]?.result?.task?.id ?? ''
    const after = first.all.at(-1)?.generation ?? 0
    const old = { authorization: await authorize(-5) }
    await expect(read(wire.subscribe(taskId, { after, headers: old }))).rejects.toThrow('not accepted')
    const second = wire.subscribe(taskId, { after, headers: { authorization: await authorize(60) } })
    setTimeout(stop, 100)
    const { all } = await read(second)
    expect(all[0]?.generation).toBe(after + 1)
    expect(all.some(isOver)).toBe(true)
  })

  it('over REST', async () => {
    const { server, authorize, stop } = await open()
    const response = await fetch(`${server.url}/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: await authorize(1) },
      body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } }),
    })
    const { all, took } = await read(readEvents(response))
    expect(took).toBeLessThan(4_000)
    expect(all.length).toBeGreaterThan(1)
    stop()
  })

  it('over gRPC', async () => {
    const { server, authorize, stop } = await open()
    const request = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } }
    const metadata = { authorization: await authorize(1) }
    const { messages, status } = await readAll(
      grpcClient(server.port).stream('lf.a2a.v1.A2AService/SendStreamingMessage', request, { metadata }),
    )
    expect(messages.length).toBeGreaterThan(1)
    expect(status.code).toBe(0)
    stop()
  })

  it('but a call that waits for its answer gets it', async () => {
    const { wire, authorize, stop } = await open()
    const sent = wire.sendTask('go', {}, { authorization: await authorize(1) })
    setTimeout(stop, 2_500)
    expect((await sent).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('and a client that gets new ones reads on without a gap', async () => {
    const { server, token, stop } = await open()
    let given = 0
    const secret = () => {
      given++
      return token(1)
    }
    const client = await connect(server.url, { auth: [bearer(secret)], resume: { minDelay: 1, maxDelay: 5 } })
    let text = ''
    for await (const event of client.stream('go')) {
      if (event.type === 'artifact')
        text += event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
      if (given >= 4) stop()
    }
    const numbers = text.trim().split(' ').map(Number)
    expect(given).toBeGreaterThanOrEqual(4)
    expect(numbers).toEqual(numbers.map((_, n) => n + 1))
  })
})
