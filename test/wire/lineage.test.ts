import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { connect } from '../../src/entries/client.ts'
import { agent, type LocalAgent } from '../../src/entries/index.ts'
import { lineageExtension } from '../../src/protocol/extensions/lineage.ts'
import { createHandler } from '../../src/server/handler.ts'
import { callOf, messageOf } from '../support/agents/test-runtime.ts'
import { silentLogger } from '../support/logger.ts'

/** What comes of a message with this lineage. */
async function answerTo(made: LocalAgent, lineage: JsonObject, options = {}) {
  const { service } = createHandler(made, { auth: 'none', logger: silentLogger, ...options })
  const message = messageOf('go', { metadata: { [lineageExtension]: lineage } })
  return await service.sendMessage({ message }, callOf())
}

const echo = agent({ name: 'Echo' }, async (turn) => JSON.stringify(turn.lineage))

describe('who is asked', () => {
  it('refuses to be asked for what it waits for itself', async () => {
    const errors: Error[] = []
    let asked = 0
    const ping: LocalAgent = agent({ name: 'Ping' }, async (turn) => {
      asked++
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
    expect(asked).toBe(1)
  })

  it('refuses it also where the one who asks does not look', async () => {
    const chain = [
      { agent: 'Echo', id: 'me' },
      { agent: 'Other', id: 'x' },
    ]
    const loop = answerTo(echo, { chain }, { calls: { identity: 'me' } })
    await expect(loop).rejects.toThrow('This would be a loop: Echo → Other → Echo.')
  })

  it('refuses what is too deep, at both ends', async () => {
    const chain = [1, 2, 3].map((number) => ({ agent: `A${number}`, id: `${number}` }))
    const options = { calls: { maxDepth: 2 } }
    await expect(answerTo(echo, { chain }, options)).rejects.toThrow('A1 → A2 → A3 → Echo. At most 2 may.')
    const asking = agent({ name: 'Asking' }, async (turn) => {
      const failed = await turn.call(echo, 'go').catch((error) => error)
      return `${failed.reason}: ${failed.message}`
    })
    const outcome = await answerTo(asking, { chain: chain.slice(0, 2) }, options)
    expect(JSON.stringify(outcome)).toContain('too-deep: ')
  })

  it('refuses what comes too late, and stops when it is too late', async () => {
    const past = new Date(Date.now() - 1_000).toISOString()
    await expect(answerTo(echo, { deadline: past })).rejects.toThrow('The deadline of this call has passed')
    const slow = agent({ name: 'Slow' }, async (turn) => {
      await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
    })
    const soon = new Date(Date.now() + 50).toISOString()
    const outcome = await answerTo(slow, { deadline: soon })
    expect(JSON.stringify(outcome)).toContain('The time that the caller gave for this has passed.')
  })

  it('makes as many calls as its budget allows, and lets others make their share', async () => {
    const asking = agent({ name: 'Asking' }, async (turn) => {
      const seen: unknown[] = []
      for (let calls = 0; calls < 6; calls++) {
        const answer = await turn.call(echo, 'go').catch((error) => error)
        seen.push(answer.text ? JSON.parse(answer.text).budget : answer.reason)
      }
      return JSON.stringify(seen)
    })
    const outcome = await answerTo(asking, { budget: 10 })
    expect(outcome).toMatchObject({ message: { parts: [{ text: '[4,2,0,0,"out-of-budget","out-of-budget"]' }] } })
  })

  it('counts in who stands between and passes metadata on as it is', async () => {
    const lineage = { chain: [{ agent: 'A', id: 'a' }], to: { agent: 'Foreign', id: 'f' } }
    const outcome = await answerTo(echo, lineage)
    const [part] = outcome.type === 'message' ? outcome.message.parts : []
    expect(part && 'text' in part && JSON.parse(part.text)).toEqual({
      chain: [
        { agent: 'A', id: 'a' },
        { agent: 'Foreign', id: 'f' },
      ],
    })
  })

  it.each([
    ['a text', 'x'],
    ['a chain that is none', { chain: 'x' }],
    ['an endless chain', { chain: Array(65).fill({ agent: 'a', id: 'a' }) }],
    ['nobody in a chain', { chain: [{}] }],
    ['a deadline that is none', { deadline: 'soon' }],
    ['half a call', { budget: 0.5 }],
  ])('says what it expected instead of %s', async (_, lineage) => {
    await expect(answerTo(echo, lineage as JsonObject)).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('expected'),
    })
  })
})

it('tells the deadline of a call to the one who is asked, and gives up when it has passed', async () => {
  const seen: (number | undefined)[] = []
  const slow = agent({ name: 'Slow' }, async (turn) => {
    seen.push(turn.lineage.deadline)
    await turn.status('working', 'Slowly')
    await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
  })
  const asking = agent({ name: 'Asking' }, async (turn) => {
    const failed = await turn.call(slow, 'go', { timeout: 100 }).catch((error) => error)
    return `${failed.name} ${failed.reason ?? failed.state}`
  })
  const { text } = await (await connect(asking)).send('go')
  expect(text).toMatch(/^CallFailed (timeout|failed)$/)
  expect(seen[0]).toBeLessThanOrEqual(Date.now())
})
