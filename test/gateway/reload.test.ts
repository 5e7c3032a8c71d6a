import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import { connect } from '../../src/entries/client.node.ts'
import { bearer } from '../../src/entries/client-auth.ts'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { deferred } from '../support/async.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { startGateway } from './support.ts'

describe.each<Mode>(['durable', 'pass-through'])('a new configuration of a %s agent', (mode) => {
  it('cuts no open stream, and serves new calls by the new options', async () => {
    const finish = deferred()
    async function slow(turn: Turn): Promise<void> {
      const out = turn.artifact('out')
      await out.write('first')
      if (turn.text === 'wait') await finish.promise
      await out.write(', last')
      await out.close()
      await turn.status('completed')
    }
    const { server } = await startTestServer(slow, { profile: { name: 'Slow' } })
    const before = { url: server.url, mode, auth: [bearer('one')], path: '/slow' }
    const gateway = await startGateway({ agents: { slow: before }, drainDeadline: 0 })
    const client = await connect(`${gateway.url}/slow`)
    const stream = client.stream('wait')
    let text = ''
    for await (const event of stream) {
      if (event.type !== 'artifact') continue
      for (const part of event.artifact.parts) text += 'text' in part ? part.text : ''
      if (text !== 'first') continue
      await gateway.update({ agents: { slow: { ...before, auth: [bearer('two')], timeout: 30_000 } } })
      expect((await client.send('now')).task?.status.state).toBe('completed')
      finish.resolve()
    }
    expect(text).toBe('first, last')
    await expect(gateway.update({ agents: { slow: { ...before, timeout: -1 } } })).rejects.toThrow('timeout')
    expect((await client.send('now')).task?.status.state).toBe('completed')
  })
})

describe('a configuration', () => {
  it('that is wrong changes nothing, whatever is wrong', async () => {
    const { server } = await startTestServer(async () => 'hi', { profile: { name: 'Hi' } })
    const gateway = await startGateway({ agents: { hi: { url: server.url, path: '/hi' } } })
    const unsafe = { url: server.url, path: '/hi', signature: { mode: 'require' } } as const
    await expect(gateway.update({ agents: { hi: unsafe } })).rejects.toThrow('signature.mode')
    const client = await connect(`${gateway.url}/hi`)
    expect((await client.send('x')).text).toBe('hi')
  })

  it('keeps credentials whose values are unchanged', async () => {
    const read = async (token: string) => {
      const yaml = `agents: { a: { url: "https://a.example", auth: { bearer: ${token} } } }`
      const sources = { file: 'gateway.yaml', env: {}, readFile: () => '' }
      return (await readGatewayConfig(yaml, sources)).options.agents.a as { auth: readonly unknown[] }
    }
    const [one, same, other] = [await read('one'), await read('one'), await read('two')]
    expect(one.auth[0]).toBe(same.auth[0])
    expect(one.auth[0]).not.toBe(other.auth[0])
  })
})
