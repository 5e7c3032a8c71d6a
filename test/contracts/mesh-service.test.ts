import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import type { AgentFunction } from '../../src/core/agent/agent-function.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { createHandler } from '../../src/core/server/handler.ts'
import { MeshError, type MeshLink } from '../../src/entries/mesh.ts'
import { meshService } from '../../src/entries/mesh-bridge.ts'
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
    const handler = createHandler(agent({ name: 'Test', inputModes: ['*/*'] }, run), {
      auth: anonymousListsAll,
      logger: silentLogger,
      turns: { cancelGrace: 50 },
    })
    onTestFinished(() => handler.drain(0))
    const { link } = await startBridgedService({ service: handler.service })
    return meshService({ link, ...fast })
  },
}

describe('service: mesh peer', () => {
  describe('sending', () => sendMessageContract(contract))
  describe('tasks', () => taskContract(contract))
  describe('errors', () => errorContract(contract))

  it('a stream over the mesh yields the task first, and then its changes', async () => {
    const [first, second] = [deferred(), deferred()]
    const service = await contract.open(async (turn) => {
      await turn.status('working', 'Counting')
      const numbers = turn.artifact('numbers')
      await numbers.write('one')
      await first.promise
      await numbers.write('two')
      await second.promise
      await turn.status('completed', 'Counted')
    })
    const events: StreamEvent[] = []
    for await (const event of service.streamMessage({ message: messageOf('count') }, callOf())) {
      events.push(event)
      const text = describeEvent(event)
      if (text.includes('one')) first.resolve()
      if (text.includes('two')) second.resolve()
    }
    const texts = events.map(describeEvent)
    expect(texts[0]).toBe('task submitted')
    expect(texts.slice(1).filter((text) => !text.startsWith('status working'))).toEqual([
      'artifact one',
      'artifact two, more',
      'status completed: Counted',
    ])
    expect(events.map(({ isLast }) => isLast === true)).toEqual(events.map((_, n) => n === events.length - 1))
  })

  it('a stream over the mesh ends with a question', async () => {
    const service = await contract.open(countingAgent)
    const events = await collect(service.streamMessage({ message: messageOf('ask') }, callOf()))
    const last = events.at(-1)
    expect(last && describeEvent(last)).toBe('status input-required: Up to what?')
    expect(last?.isLast).toBe(true)
  })

  it('a stream over the mesh survives failed polls for a while, and ends with the error of a persistent failure', async () => {
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
        if (method === 'a2a.get' && failures-- > 0) throw new MeshError('SERVICE_UNAVAILABLE', 'Try again.')
        if (failures < 0) done.resolve()
        return await link.request(method, parameters, options)
      },
    }
    const service = meshService({ link: flaky, ...fast })
    const events = await collect(service.streamMessage({ message: messageOf('tea') }, callOf()))
    expect(events.map(describeEvent).at(-1)).toBe('status completed')
    failures = Number.POSITIVE_INFINITY
    const failing = service.streamMessage({ message: messageOf('tea') }, callOf())
    await expect(collect(failing)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('a subscription over the mesh starts at the current state, and rejects ended tasks by default', async () => {
    const service = await contract.open(async (turn) => void (await turn.data({ price: 4.25 })))
    const { id: taskId } = taskOf(await send(service, 'tea'))
    await expect(service.subscribeToTask({ taskId }, callOf()).next()).rejects.toMatchObject({
      code: 'unsupported-operation',
    })
    const events = await collect(service.subscribeToTask({ taskId, includeEnded: true }, callOf()))
    expect(events).toMatchObject([{ type: 'task', task: { id: taskId, status: { state: 'completed' } }, isLast: true }])
  })

  it('a stream over the mesh ends when its signal aborts', async () => {
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
