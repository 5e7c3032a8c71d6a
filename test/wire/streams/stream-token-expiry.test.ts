import { status as grpcStatus } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { jwt } from '../../../src/entries/auth.ts'
import { connect } from '../../../src/entries/client.ts'
import { bearer } from '../../../src/entries/client-auth.ts'
import { collect } from '../../support/async.ts'
import { audience, startIssuer } from '../../support/auth/token-issuer.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { streamIn } from '../../support/wire/dialect-streams.ts'
import type { WireEvent } from '../../support/wire/wire-client.ts'

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

async function read(events: AsyncIterable<WireEvent>) {
  return { received: await collect(events) }
}

const isCompleted = ({ result }: WireEvent) => result?.statusUpdate?.status.state === 'TASK_STATE_COMPLETED'

describe('the expiry of a token', () => {
  it('a JSON-RPC stream ends with an error and can be resumed with a new token', async () => {
    const { wire, authorize, stop } = await start()
    const first = await read(wire.sendStream('go', { headers: { authorization: await authorize(1) } }))
    expect(first.received.at(-1)).toMatchObject({ name: 'error', error: { code: -31401 } })
    expect(first.received.some(isCompleted)).toBe(false)
    const taskId = first.received[0]?.result?.task?.id ?? ''
    const after = first.received.at(-2)?.generation ?? 0
    const expired = { authorization: await authorize(-5) }
    await expect(read(wire.subscribe(taskId, { after, headers: expired }))).rejects.toThrow('not accepted')
    const second = wire.subscribe(taskId, { after, headers: { authorization: await authorize(60) } })
    setTimeout(stop, 100)
    const { received } = await read(second)
    expect(received[0]?.generation).toBe(after + 1)
    expect(received.some(isCompleted)).toBe(true)
  })

  it('a stream ends with an error in every dialect and binding', async () => {
    const { server, authorize, stop } = await start()
    const authorization = await authorize(3)
    const codeOf = (...[dialect, binding]: (typeof dialectBindings)[number]) => {
      if (binding === 'GRPC') return grpcStatus.UNAUTHENTICATED
      return binding === 'JSONRPC' ? (dialect === 'v0.1' ? -32007 : -31401) : undefined
    }
    const ends = dialectBindings.map(async (target) => {
      const lines = await collect(streamIn(target, server, 'go', { headers: { authorization } }))
      return [target, lines.length > 2, lines.at(-1)]
    })
    const expected = dialectBindings.map((target) => {
      const code = codeOf(...target)
      return [target, true, { type: 'error', ...(code !== undefined && { code }) }]
    })
    expect(await Promise.all(ends)).toMatchObject(expected)
    stop()
  })

  it('a blocking call still gets its response', async () => {
    const { wire, authorize, stop } = await start()
    const sent = wire.sendTask('go', {}, { authorization: await authorize(1) })
    setTimeout(stop, 2_500)
    expect((await sent).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('a client without a new token gets the error', async () => {
    const { server, token, stop } = await start()
    const fixed = await token(1)
    const client = await connect(server.url, { auth: [bearer(fixed)], resume: { minDelay: 1, maxDelay: 5 } })
    await expect(collect(client.stream('go'))).rejects.toMatchObject({ code: 'unauthenticated' })
    stop()
  })

  it.each(['v1.0', 'v0.1'] as const)(
    'a client that obtains new tokens reads on without a gap in %s',
    async (dialect) => {
      const { server, token, stop } = await start()
      let tokens = 0
      const secret = () => {
        tokens++
        return token(2)
      }
      const options = { auth: [bearer(secret)], dialects: [dialect], resume: { minDelay: 1, maxDelay: 5 } }
      const client = await connect(server.url, options)
      let text = ''
      let opened: number | undefined
      for await (const event of client.stream('go')) {
        opened ??= tokens
        if (event.type === 'artifact' && !event.append && event.artifact.parts.length > 1) text = ''
        if (event.type === 'artifact')
          text += event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
        if (tokens > opened) stop()
      }
      const numbers = text.trim().split(' ').map(Number)
      expect(tokens).toBeGreaterThan(opened ?? tokens)
      expect(numbers).toEqual(numbers.map((_, n) => n + 1))
    },
  )
})
