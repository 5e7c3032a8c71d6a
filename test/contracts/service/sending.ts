import { expect, it } from 'vitest'
import type { Part } from '../../../src/core/protocol/model.ts'
import { textOf } from '../../../src/core/protocol/model.ts'
import { callOf, messageOf, send, taskOf } from '../../support/agents/test-runtime.ts'
import { until } from '../../support/async.ts'
import type { ServiceContract } from './contract.ts'
import { countingAgent, stateOf, textsOf } from './contract.ts'

const parts: readonly Part[] = [
  { text: 'Grüße' },
  { data: { list: [1, 'two', null, { three: true }] } },
  { raw: 'AP+A', mediaType: 'application/octet-stream', filename: 'bytes.bin' },
  { url: 'https://example.com/a.png', mediaType: 'image/png' },
]

export function sendMessageContract({
  open,
  hasMessages = true,
  canReturnImmediately = true,
  canRepeat = true,
}: ServiceContract) {
  it('an agent can answer with a message', async () => {
    const outcome = await send(await open(countingAgent), 'hello')
    if (hasMessages) expect(outcome.type === 'message' && textOf(outcome.message)).toBe('hi')
    else expect(textOf(taskOf(outcome).status.message ?? { parts: [] })).toBe('hi')
  })

  it('a blocking send returns the complete task', async () => {
    const task = taskOf(await send(await open(countingAgent), 'count', { historyLength: 10 }))
    expect(stateOf(task)).toBe('completed')
    expect(textOf(task.status.message ?? { parts: [] })).toBe('Counted')
    expect(task.artifacts.map(({ name }) => name)).toEqual(['numbers'])
    expect(task.artifacts.map(textsOf)).toEqual(['onetwothree'])
    expect(task.history.map(textOf)).toEqual(['count', 'Counting'])
  })

  it.runIf(canReturnImmediately)('a send with returnImmediately does not wait for the result', async () => {
    const service = await open(countingAgent)
    const { id, status } = taskOf(await send(service, 'wait', { returnImmediately: true }))
    expect(status.state).toMatch(/^(submitted|working)$/)
    await until(async () => stateOf(await service.getTask({ taskId: id }, callOf())) === 'working')
  })

  it('an answer to a question continues the task', async () => {
    const service = await open(countingAgent)
    const question = taskOf(await send(service, 'ask'))
    expect(stateOf(question)).toBe('input-required')
    expect(textOf(question.status.message ?? { parts: [] })).toBe('Up to what?')
    const done = taskOf(await send(service, 'three', { taskId: question.id }))
    expect(done.id).toBe(question.id)
    expect(done.contextId).toBe(question.contextId)
    expect(stateOf(done)).toBe('completed')
  })

  it('a message with a context id creates a new task in that context', async () => {
    const service = await open(countingAgent)
    const first = taskOf(await send(service, 'count'))
    const message = messageOf('count', { contextId: first.contextId })
    const second = taskOf(await service.sendMessage({ message }, callOf()))
    expect(second.contextId).toBe(first.contextId)
    expect(second.id).not.toBe(first.id)
  })

  it('every kind of part survives the round trip', async () => {
    const service = await open(async (turn) => {
      await turn.artifact('same').close(turn.message.parts.filter((part) => !('carry' in part)))
    })
    const task = taskOf(await service.sendMessage({ message: messageOf('', { parts }) }, callOf()))
    expect(task.artifacts[0]?.parts).toMatchObject(parts)
  })

  it('request and message metadata reach the agent', async () => {
    const service = await open(async (turn) => {
      await turn.data({ beside: turn.metadata, within: turn.message.metadata ?? {} })
    })
    const message = messageOf('', { metadata: { within: 1 } })
    const task = taskOf(await service.sendMessage({ message, metadata: { beside: 2 } }, callOf()))
    expect(task.artifacts[0]?.parts[0]).toMatchObject({ data: { beside: { beside: 2 }, within: { within: 1 } } })
  })

  it.runIf(canRepeat)('a repeated send with the same idempotency key is executed once', async () => {
    const service = await open(countingAgent)
    const message = messageOf('count')
    const call = { idempotencyKey: 'the key' }
    const [one, two] = [
      await service.sendMessage({ message }, callOf(call)),
      await service.sendMessage({ message }, callOf(call)),
    ]
    expect(taskOf(two).id).toBe(taskOf(one).id)
  })
}
