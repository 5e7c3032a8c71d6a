import { describe, expect, it } from 'vitest'
import type { CalledAgent } from '../../../src/core/agent/call-agent.ts'
import type { JsonObject } from '../../../src/core/base/json.ts'
import { lineageExtension } from '../../../src/core/protocol/extensions/lineage.ts'
import { cardOf } from '../../../src/core/server/card.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { connect } from '../../../src/entries/client.ts'
import { agent, type LocalAgent } from '../../../src/entries/index.ts'
import { callOf, messageOf } from '../../support/agents/test-runtime.ts'
import { silentLogger } from '../../support/logger.ts'

/** The outcome of a message with this lineage. */
async function sendWithLineage(localAgent: LocalAgent, lineage: JsonObject, options = {}) {
  const { service } = createHandler(localAgent, { auth: 'none', logger: silentLogger, ...options })
  const message = messageOf('go', { metadata: { [lineageExtension]: lineage } })
  return await service.sendMessage({ message }, callOf())
}

/** An agent behind HTTP that calls the given one with the text and some headers of each message, and nothing else. */
function droppingProxy(target: LocalAgent, forwarded: readonly string[], calls = {}) {
  const handler = createHandler(target, { auth: 'none', logger: silentLogger, calls })
  const send = async (text: string, headers: Readonly<Record<string, string>>) => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
    const all = { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers }
    return await (await handler.fetch(new Request('http://target/', { method: 'POST', headers: all, body }))).text()
  }
  const card = { ...cardOf({ name: 'Proxy' }), interfaces: [] }
  const proxy: CalledAgent = {
    card,
    service: {
      ...handler.service,
      async *streamMessage(_request, { headers = {} }) {
        const passed = Object.entries(headers).filter(([name]) => forwarded.includes(name))
        const text = await send('go', Object.fromEntries(passed))
        yield { type: 'message', message: messageOf(text, { role: 'agent' }) }
      },
    },
  }
  return { callTarget: (text: string) => send(text, {}), proxy }
}

const echo = agent({ name: 'Echo' }, async (turn) => JSON.stringify(turn.lineage))

describe('a called agent', () => {
  it('an agent rejects a call that loops back to it', async () => {
    const errors: Error[] = []
    let turns = 0
    const ping: LocalAgent = agent({ name: 'Ping' }, async (turn) => {
      turns++
      const { text } = await turn.call(pong, turn.text)
      return text
    })
    const pong: LocalAgent = agent({ name: 'Pong' }, async (turn) => {
      const { text } = await turn.call(ping, turn.text).catch((error: Error) => {
        errors.push(error)
        return { text: error.message }
      })
      return text
    })
    const { text } = await (await connect(ping)).send('go')
    expect(text).toContain('This would be a loop: Ping → Pong → Ping.')
    expect(errors).toMatchObject([{ reason: 'loop' }])
    expect(turns).toBe(1)
  })

  it('an agent rejects a loop that its caller did not detect', async () => {
    const chain = [
      { agent: 'Echo', id: 'me' },
      { agent: 'Other', id: 'x' },
    ]
    const loop = sendWithLineage(echo, { chain }, { calls: { identity: 'me' } })
    await expect(loop).rejects.toThrow('This would be a loop: Echo → Other → Echo.')
  })

  it('a chain that is too deep is rejected by caller and called agent', async () => {
    const chain = [1, 2, 3].map((number) => ({ agent: `A${number}`, id: `${number}` }))
    const options = { calls: { maxDepth: 2 } }
    await expect(sendWithLineage(echo, { chain }, options)).rejects.toThrow('A1 → A2 → A3 → Echo. At most 2 may.')
    const asking = agent({ name: 'Asking' }, async (turn) => {
      const error = await turn.call(echo, 'go').catch((cause) => cause)
      return `${error.reason}: ${error.message}`
    })
    const outcome = await sendWithLineage(asking, { chain: chain.slice(0, 2) }, options)
    expect(JSON.stringify(outcome)).toContain('too-deep: ')
  })

  it('a circle through an agent that drops metadata ends at the depth that the header shows', async () => {
    let turns = 0
    const asking = agent({ name: 'Asking' }, async (turn) => {
      turns++
      const answer = await turn.call(proxy, 'go').catch((error: Error) => error)
      return 'text' in answer ? answer.text : answer.message
    })
    const { callTarget, proxy } = droppingProxy(asking, ['a2a-hops'])
    expect(await callTarget('go')).toContain('Too many agents ask each other: an unknown agent')
    expect(turns).toBe(9)
  })

  it('a circle through an agent that drops everything ends at the number of calls in progress', async () => {
    let turns = 0
    const asking = agent({ name: 'Asking' }, async (turn) => {
      turns++
      const answer = await turn.call(proxy, 'go').catch((error: Error) => error)
      return 'text' in answer ? answer.text : answer.message
    })
    const { callTarget, proxy } = droppingProxy(asking, [], { maxRunning: 20 })
    expect(await callTarget('go')).toContain('20 calls to other agents are in progress')
    expect(turns).toBe(21)
  })

  it('a turn makes only as many calls as calls.maxCalls allows, and each ends after calls.timeout', async () => {
    const asking = agent({ name: 'Asking' }, async (turn) => {
      const outcomes = await turn.callAll(Array.from({ length: 4 }, () => [echo, 'go'] as const))
      return JSON.stringify(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.reason)))
    })
    const outcome = await sendWithLineage(asking, {}, { calls: { maxCalls: 3 } })
    expect(outcome).toMatchObject({ message: { parts: [{ text: '["ok","ok","ok","out-of-budget"]' }] } })
    const silent = agent({ name: 'Silent' }, async (turn) => {
      await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
    })
    const waiting = agent({ name: 'Waiting' }, async (turn) => {
      const error = await turn.call(silent, 'go').catch((cause) => cause)
      return `${error.reason}`
    })
    const ended = await sendWithLineage(waiting, {}, { calls: { timeout: 50 } })
    expect(JSON.stringify(ended)).toContain('timeout')
  })

  it('a call after its deadline is rejected, and a running one stops at it', async () => {
    const past = new Date(Date.now() - 1_000).toISOString()
    await expect(sendWithLineage(echo, { deadline: past })).rejects.toThrow('The deadline of this call has passed')
    const slow = agent({ name: 'Slow' }, async (turn) => {
      await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
    })
    const soon = new Date(Date.now() + 50).toISOString()
    const outcome = await sendWithLineage(slow, { deadline: soon })
    expect(JSON.stringify(outcome)).toContain('The time that the caller gave for this has passed.')
  })

  it('an agent makes only as many calls as its budget allows, and shares it with the called agents', async () => {
    const asking = agent({ name: 'Asking' }, async (turn) => {
      const budgets: unknown[] = []
      for (let calls = 0; calls < 6; calls++) {
        const answer = await turn.call(echo, 'go').catch((error) => error)
        budgets.push(answer.text ? JSON.parse(answer.text).budget : answer.reason)
      }
      return JSON.stringify(budgets)
    })
    const outcome = await sendWithLineage(asking, { budget: 10 })
    expect(outcome).toMatchObject({ message: { parts: [{ text: '[4,2,0,0,"out-of-budget","out-of-budget"]' }] } })
  })

  it('the chain includes an agent in between that forwards metadata unchanged', async () => {
    const lineage = { chain: [{ agent: 'A', id: 'a' }], to: { agent: 'Foreign', id: 'f' } }
    const outcome = await sendWithLineage(echo, lineage)
    const [part] = outcome.type === 'message' ? outcome.message.parts : []
    expect(part && 'text' in part && JSON.parse(part.text)).toEqual({
      chain: [
        { agent: 'A', id: 'a' },
        { agent: 'Foreign', id: 'f' },
      ],
    })
  })

  it.each([
    ['a string', 'x'],
    ['a chain that is not a list', { chain: 'x' }],
    ['an endless chain', { chain: Array(65).fill({ agent: 'a', id: 'a' }) }],
    ['a chain entry without an agent', { chain: [{}] }],
    ['an invalid deadline', { deadline: 'soon' }],
    ['a fractional budget', { budget: 0.5 }],
  ])('an agent rejects %s with what it expected', async (_, lineage) => {
    await expect(sendWithLineage(echo, lineage as JsonObject)).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('expected'),
    })
  })
})

it('a call passes its deadline on and fails when it has passed', async () => {
  const deadlines: (number | undefined)[] = []
  const slow = agent({ name: 'Slow' }, async (turn) => {
    deadlines.push(turn.lineage.deadline)
    await turn.status('working', 'Slowly')
    await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
  })
  const asking = agent({ name: 'Asking' }, async (turn) => {
    const error = await turn.call(slow, 'go', { timeout: 100 }).catch((cause) => cause)
    return `${error.name} ${error.reason ?? error.state}`
  })
  const { text } = await (await connect(asking)).send('go')
  expect(text).toMatch(/^CallFailed (timeout|failed)$/)
  expect(deadlines[0]).toBeLessThanOrEqual(Date.now())
})
