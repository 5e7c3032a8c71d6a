import { expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import { cardOf } from '../../src/core/server/card.ts'
import { createHandler } from '../../src/core/server/handler.ts'
import { type MeshCall, MeshError, MeshRefusal } from '../../src/entries/mesh.ts'
import { a2aMethods } from '../../src/entries/mesh-bridge.ts'
import { silentLogger } from '../support/logger.ts'
import { meshRequest } from '../support/mesh/mesh-peers.ts'
import { createRandom } from '../support/random.ts'
import { seed } from './fuzz.ts'
import { mutate } from './mesh-mutations.ts'

const rounds = Number(process.env.FUZZ_ROUNDS ?? 5_000)

const originals = [
  ['a2a.send', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'tea' }, { data: { a: [1] } }] } }],
  [
    'a2a.send',
    { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ raw: 'AAAA', filename: 'a' }], taskId: 't' } },
  ],
  [
    'a2a.send',
    { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '' }] }, configuration: { historyLength: 1 } },
  ],
  ['a2a.get', { id: 'no-task', historyLength: 3 }],
  ['a2a.list', { contextId: 'c', status: 'TASK_STATE_WORKING', pageSize: 10, pageToken: 'x', includeArtifacts: true }],
  ['a2a.cancel', { id: 'no-task', metadata: { a: null } }],
  ['echo', { text: 'tea' }],
] as const

it('mutated parameters are answered or refused and cause no internal error', { timeout: 120_000 }, async () => {
  const profile = { name: 'Echo', skills: [{ id: 'echo', name: 'Echo' }] }
  const handler = createHandler(
    agent(profile, ({ text }) => text),
    { auth: 'none', logger: silentLogger },
  )
  onTestFinished(() => handler.drain(0))
  const methods = a2aMethods({ service: handler.service, card: cardOf(profile) })
  const counts = { answered: 0, refused: 0 }
  for (let round = 0; round < rounds; round++) {
    const random = createRandom(seed * 1_000_003 + round)
    const [name, original] = random.pick(originals)
    const parameters = parseObject(mutate(JSON.stringify(original), random))
    if (!parameters) continue
    const identity = { agentId: 'shop-agent', fingerprint: 'f' }
    const envelope = meshRequest()
    const call: MeshCall = {
      envelope,
      from: 'shop-agent',
      identity,
      signal: new AbortController().signal,
      trace: undefined,
    }
    try {
      expect(await methods[name]?.(parameters, call)).toBeTypeOf('object')
      counts.answered++
    } catch (error) {
      const isExpected = (error instanceof MeshError || error instanceof MeshRefusal) && error.code !== 'INTERNAL_ERROR'
      if (!isExpected) throw new Error(`Round ${round}: ${name} ${JSON.stringify(parameters)}`, { cause: error })
      counts.refused++
    }
  }
  expect(Math.min(counts.answered, counts.refused)).toBeGreaterThan(rounds / 50)
})

function parseObject(text: string) {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
