import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import { A2AError } from '../../src/core/protocol/errors.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { textOf } from '../../src/core/protocol/model.ts'
import { connect } from '../../src/entries/client.node.ts'
import { createContent } from '../../src/gateway/content.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { collect } from '../support/async.ts'
import { startWebhookReceiver } from '../support/push/webhook-receiver.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { startGateway } from './support.ts'

const redact = [
  { name: 'card', pattern: '\\b4\\d{3}(?: ?\\d{4}){3}\\b', maxLength: 19 },
  { name: 'token', pattern: 'tok_[a-z0-9]+', maxLength: 32 },
]

const secrets = ['4111 1111 1111 1111', 'tok_abcdef0123456789']

/** Repeats what it got, and leaks secrets in pieces of every size. */
async function leak(turn: Turn): Promise<string | undefined> {
  if (turn.text.startsWith('echo')) return turn.text
  const out = turn.artifact('out')
  const text = `Card ${secrets[0]} and ${secrets[1]}. The end.`
  for (let at = 0; at < text.length; at += 5) await out.write(text.slice(at, at + 5))
  await out.close()
  await turn.data({ list: [{ note: `it is ${secrets[1]}` }], count: 4111 }, 'data')
  await turn.status('completed', `Paid with ${secrets[0]}`)
  return undefined
}

const expected = 'Card [redacted: card] and [redacted: token]. The end.'

function textIn(events: readonly StreamEvent[]): string {
  const parts = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

describe.each<Mode>(['durable', 'pass-through'])('content rules of a %s agent', (mode) => {
  it('replace patterns in both directions, also where chunks split them', async () => {
    const receiver = await startWebhookReceiver()
    const { server } = await startTestServer(leak, { profile: { name: 'Leak' }, push: { loopback: 'allow' } })
    const gateway = await startGateway({
      agents: { leak: { url: server.url, mode } },
      content: { redact },
      push: { loopback: 'allow' },
    })
    const client = await connect(gateway.url)
    expect((await client.send(`echo my ${secrets[1]}`)).text).toBe('echo my [redacted: token]')
    const events = await collect(client.stream('go'))
    expect(textIn(events)).toBe(expected)
    const { task } = await client.send('go', { push: { url: `${receiver.url}/hook` } })
    const stored = await client.task(task?.id ?? '').get()
    expect(stored.artifacts.map((artifact) => textOf(artifact))[0]).toBe(expected)
    const seen = JSON.stringify([events, task, stored, await collect(client.listTasks({ includeArtifacts: true }))])
    for (const secret of secrets) expect(seen).not.toContain(secret)
    expect(seen).toContain('it is [redacted: token]')
    expect(gateway.agents()[0]?.redactions).toMatchObject({ card: expect.any(Number), token: expect.any(Number) })
  })

  it('inspect, replace and reject messages and events', async () => {
    const { server } = await startTestServer(leak, { profile: { name: 'Leak' } })
    const seen: string[] = []
    const gateway = await startGateway({
      agents: {
        leak: {
          ...{ url: server.url, mode },
          content: {
            onMessage(message, { agent, principal }) {
              seen.push(`${agent} ${principal?.id === undefined ? 'nobody' : 'caller'}`)
              if (textOf(message).includes('forbidden')) {
                throw new A2AError('forbidden', 'The content of this message is not allowed.')
              }
              return { ...message, parts: [{ text: textOf(message).toUpperCase().replace('ECHO', 'echo') }] }
            },
            onEvent: (event) =>
              event.type === 'message'
                ? { ...event, message: { ...event.message, parts: [{ text: 'changed' }] } }
                : undefined,
          },
        },
      },
    })
    const client = await connect(gateway.url)
    expect((await client.send('echo hello')).text).toBe('changed')
    await expect(client.send('forbidden')).rejects.toMatchObject({ code: 'forbidden' })
    expect(seen).toEqual(['leak caller', 'leak caller'])
    expect((await collect((await connect(server.url)).listTasks())).length).toBe(0)
  })
})

describe('redaction', () => {
  it('gives the same text for every way to split a stream', async () => {
    const content = createContent('a', { redact })
    const text = `x ${secrets[0]}, ${secrets[1]} y ${secrets[0]} tok_ z`
    const whole = `x [redacted: card], [redacted: token] y [redacted: card] tok_ z`
    for (let size = 1; size <= text.length; size++) {
      async function* chunks(): AsyncGenerator<StreamEvent> {
        for (let at = 0; at < text.length; at += size) {
          const artifact = { artifactId: 'a', parts: [{ text: text.slice(at, at + size) }] }
          yield { type: 'artifact', taskId: 't', contextId: 'c', generation: at, artifact, append: at > 0 }
        }
        yield { type: 'status', taskId: 't', contextId: 'c', generation: 99, status: { state: 'completed' } }
      }
      const service = content.around({ streamMessage: chunks } as never)
      const events = await collect(service.streamMessage({} as never, { principal: { id: '' } } as never))
      expect(textIn(events), `${size}`).toBe(whole)
    }
  })

  it('is linear in its input, and refuses patterns that are not', async () => {
    const content = createContent('a', { redact: [{ name: 'x', pattern: '(a+)+$' }] })
    const message = { messageId: 'm', role: 'agent', parts: [{ text: `${'a'.repeat(50_000)}b` }] } as const
    expect(await content.event({ type: 'message', message })).toEqual({ type: 'message', message })
    const agents = { a: { url: 'http://127.0.0.1:9', content: { redact: [{ name: 'x', pattern: '(?<=a)b' }] } } }
    await expect(startGateway({ agents })).rejects.toThrow(
      /content.redact\[0\].pattern: expected a pattern in the syntax of RE2/,
    )
  })
})
