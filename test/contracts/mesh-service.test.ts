import { describe, expect, it, onTestFinished } from 'vitest'
import { agent, type Run } from '../../src/agent/agent.ts'
import { meshService } from '../../src/bridge/index.ts'
import { createHandler } from '../../src/server/handler.ts'
import { bridged } from '../support/bridged.ts'
import { callOf, collect, forAll, messageOf, quiet, send, taskOf } from '../support/house.ts'
import { errorContract } from './service/errors.ts'
import { sendContract } from './service/sending.ts'
import { taskContract } from './service/tasks.ts'
import type { ServiceContract } from './service/traits.ts'

const fast = { minDelay: 5, maxDelay: 20 }

const contract: ServiceContract = {
  ended: 'unsupported-operation',
  canRepeat: false,
  async open(run: Run) {
    const handler = createHandler(agent({ name: 'Test' }, run), { auth: forAll, logger: quiet, cancelGrace: 50 })
    onTestFinished(() => handler.drain(0))
    const { link } = await bridged({ service: handler.service })
    return meshService({ link, ...fast })
  },
}

describe('the service of a peer of the mesh', () => {
  describe('sending', () => sendContract(contract))
  describe('tasks', () => taskContract(contract))
  describe('errors', () => errorContract(contract))

  it('tells a task again and again until it rests, for the mesh has no streams', async () => {
    const gate = Promise.withResolvers<void>()
    const service = await contract.open(async (turn) => {
      await turn.status('working')
      await gate.promise
      await turn.data({ price: 4.25 })
    })
    const states: string[] = []
    for await (const event of service.streamMessage({ message: messageOf('tea') }, callOf())) {
      if (event.type !== 'task') return expect.fail(`a ${event.type}`)
      states.push(event.task.status.state)
      gate.resolve()
    }
    expect(states[0]).toBe('working')
    expect(states.at(-1)).toBe('completed')
  })

  it('follows a task from where it is, and refuses one that has ended unless its end is wanted', async () => {
    const service = await contract.open(async (turn) => void (await turn.data({ price: 4.25 })))
    const { id: taskId } = taskOf(await send(service, 'tea'))
    await expect(service.subscribeToTask({ taskId }, callOf()).next()).rejects.toMatchObject({
      code: 'unsupported-operation',
    })
    const told = await collect(service.subscribeToTask({ taskId, tellEnded: true }, callOf()))
    expect(told).toMatchObject([{ type: 'task', task: { id: taskId, status: { state: 'completed' } }, isLast: true }])
  })

  it('leaves when its reader does', async () => {
    const leaving = new AbortController()
    const service = await contract.open(async (turn) => {
      await turn.status('working')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    })
    const events = service.streamMessage({ message: messageOf('tea') }, callOf({ signal: leaving.signal }))
    await events.next()
    leaving.abort()
    expect(await collect(events)).toEqual([])
  })
})
