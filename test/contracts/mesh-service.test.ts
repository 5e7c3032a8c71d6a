import { describe, expect, it, onTestFinished } from 'vitest'
import { type AgentFunction, agent } from '../../src/agent/agent.ts'
import { MeshError, type MeshLink } from '../../src/entries/mesh.ts'
import { meshService } from '../../src/entries/mesh-bridge.ts'
import type { StreamEvent } from '../../src/protocol/events.ts'
import { createHandler } from '../../src/server/handler.ts'
import { callOf, messageOf, send, taskOf } from '../support/agents/test-runtime.ts'
import { collect, deferred } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'
import { startBridgedService } from '../support/mesh/bridged-service.ts'
import { anonymousListsAll } from '../support/servers/local-handler.ts'
import type { ServiceContract } from './service/contract.ts'
import { countingAgent, describeEvent } from './service/contract.ts'
import { errorContract } from './service/errors.ts'
import { sendMessageContract } from './service/sending.ts'
import { taskContract } from './service/tasks.ts'

const fast = { minDelay: 5, maxDelay: 20 }

const contract: ServiceContract = {
  endedTaskError: 'unsupported-operation',
  async open(run: AgentFunction) {
    const handler = createHandler(agent({ name: 'Test' }, run), {
      auth: anonymousListsAll,
      logger: silentLogger,
      turns: { cancelGrace: 50 },
    })
    onTestFinished(() => handler.drain(0))
    const { link } = await startBridgedService({ service: handler.service })
    return meshService({ link, ...fast })
  },
}

describe('the service of a peer of the mesh', () => {
  describe('sending', () => sendMessageContract(contract))
  describe('tasks', () => taskContract(contract))
  describe('errors', () => errorContract(contract))

  it('streams a long task as the task at first and then what changes, though the mesh has no streams', async () => {
    const [half, whole] = [deferred(), deferred()]
    const service = await contract.open(async (turn) => {
      await turn.status('working', 'Counting')
      const numbers = turn.artifact('numbers')
      await numbers.write('one')
      await half.promise
      await numbers.write('two')
      await whole.promise
      await turn.status('completed', 'Counted')
    })
    const events: StreamEvent[] = []
    for await (const event of service.streamMessage({ message: messageOf('count') }, callOf())) {
      events.push(event)
      const words = describeEvent(event)
      if (words.includes('one')) half.resolve()
      if (words.includes('two')) whole.resolve()
    }
    const words = events.map(describeEvent)
    expect(words[0]).toBe('task working')
    expect(words.filter((each) => !/^(task|status) working/.test(each))).toEqual([
      'artifact one',
      'artifact two, more',
      'status completed: Counted',
    ])
    expect(events.map(({ isLast }) => isLast === true)).toEqual(events.map((_, n) => n === events.length - 1))
  })

  it('streams up to a question, which is the last of that stream', async () => {
    const service = await contract.open(countingAgent)
    const events = await collect(service.streamMessage({ message: messageOf('ask') }, callOf()))
    const last = events.at(-1)
    expect(last && describeEvent(last)).toBe('status input-required: Up to what?')
    expect(last?.isLast).toBe(true)
  })

  it('goes on with a stream although a look fails for a while, and ends it with the error of one that keeps failing', async () => {
    const done = deferred()
    const handler = createHandler(
      agent({ name: 'Test' }, async (turn) => {
        await turn.status('working')
        await done.promise
      }),
      { auth: anonymousListsAll, logger: silentLogger, turns: { cancelGrace: 50 } },
    )
    onTestFinished(() => handler.drain(0))
    const { link } = await startBridgedService({ service: handler.service })
    let failures = 3
    const flaky: MeshLink = {
      ...link,
      async request(method, parameters, options) {
        if (method === 'a2a.get' && failures-- > 0) throw new MeshError('SERVICE_UNAVAILABLE', 'Come again.')
        if (failures < 0) done.resolve()
        return await link.request(method, parameters, options)
      },
    }
    const service = meshService({ link: flaky, ...fast })
    const events = await collect(service.streamMessage({ message: messageOf('tea') }, callOf()))
    expect(events.map(describeEvent).at(-1)).toBe('status completed')
    failures = Number.POSITIVE_INFINITY
    const hopeless = service.streamMessage({ message: messageOf('tea') }, callOf())
    await expect(collect(hopeless)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('follows a task from where it is, and refuses one that has ended unless its end is wanted', async () => {
    const service = await contract.open(async (turn) => void (await turn.data({ price: 4.25 })))
    const { id: taskId } = taskOf(await send(service, 'tea'))
    await expect(service.subscribeToTask({ taskId }, callOf()).next()).rejects.toMatchObject({
      code: 'unsupported-operation',
    })
    const told = await collect(service.subscribeToTask({ taskId, includeEnded: true }, callOf()))
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
