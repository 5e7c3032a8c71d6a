import { expect, it } from 'vitest'
import type { StreamEvent } from '../../../src/core/protocol/events.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { callOf, messageOf, send, taskOf } from '../../support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../support/async.ts'
import type { ServiceContract } from './contract.ts'
import { countingAgent, describeEvent, generationOf, stateOf, taskIdOf } from './contract.ts'

const counted = ['artifact one', 'artifact two, more', 'artifact three, more, last', 'status completed: Counted']

export function streamContract(contract: ServiceContract) {
  const { open, startsWithTask = true, hasMessages = true, canResume = true, lateSubscription = 'an error' } = contract
  const firstEvent = (state: string, text: string) => (startsWithTask ? `task ${state}` : `status ${state}: ${text}`)

  const stream = (service: Service, text: string, taskId?: string) =>
    service.streamMessage({ message: messageOf(text, taskId === undefined ? {} : { taskId }) }, callOf())

  it('a stream yields all events in order until the task ends', async () => {
    const events = await collect(stream(await open(countingAgent), 'count'))
    expect(events.map(describeEvent)).toEqual([
      startsWithTask ? 'task submitted' : 'status submitted',
      'status working: Counting',
      ...counted,
    ])
    expect(new Set(events.map(taskIdOf)).size).toBe(1)
    const generations = events.map(generationOf)
    expect(generations).toEqual(generations.toSorted((one, other) => one - other))
    expect(events.map(({ isLast }) => isLast === true)).toEqual(events.map((_, n) => n === events.length - 1))
  })

  it('a stream can consist of one message', async () => {
    const events = await collect(stream(await open(countingAgent), 'hello'))
    if (hasMessages) expect(events.map(describeEvent)).toEqual(['message: hi'])
    else expect(events.map(describeEvent).at(-1)).toBe('status completed: hi')
  })

  it('a stream ends with a question, and the answer opens another stream', async () => {
    const service = await open(countingAgent)
    const question = await collect(stream(service, 'ask'))
    expect(question.map(describeEvent).at(-1)).toBe('status input-required: Up to what?')
    const taskId = taskIdOf(question[0])
    const answer = await collect(stream(service, 'three', taskId))
    expect(answer.map(taskIdOf).every((id) => id === taskId)).toBe(true)
    expect(answer.map(describeEvent).at(-1)).toBe('status completed: Counted')
  })

  it.runIf(canResume)('a resumed stream continues after the last seen event', async () => {
    const service = await open(countingAgent)
    const events = await collect(stream(service, 'count'))
    const taskId = taskIdOf(events[0])
    for (const [n, event] of events.slice(0, -1).entries()) {
      const rest = await collect(service.subscribeToTask({ taskId, after: generationOf(event) }, callOf()))
      // The end of an artifact is an event of its own, or part of its last chunk.
      expect(contentIn(rest)).toEqual(contentIn(events.slice(n + 1)))
      expect(rest.map(generationOf).every((generation) => generation > generationOf(event))).toBe(true)
    }
  })

  it('a subscription starts at the current state of the task', async () => {
    const go = deferred()
    const service = await open(async (turn) => {
      await turn.status('working', 'Waiting')
      await go.promise
      await turn.status('completed', 'Done')
    })
    const opened = stream(service, 'go')
    const taskId = taskIdOf(await nextOf(opened))
    await until(async () => stateOf(await service.getTask({ taskId }, callOf())) === 'working')
    const following = service.subscribeToTask({ taskId }, callOf())
    expect(describeEvent(await nextOf(following))).toBe(firstEvent('working', 'Waiting'))
    go.resolve()
    expect((await collect(following)).map(describeEvent)).toEqual(['status completed: Done'])
    await opened.return(undefined)
  })

  it('a subscription to an ended task is rejected, or yields the end', async () => {
    const service = await open(countingAgent)
    const { id: taskId } = taskOf(await send(service, 'count'))
    const following = collect(service.subscribeToTask({ taskId }, callOf()))
    if (lateSubscription === 'an error') await expect(following).rejects.toThrow()
    else
      expect((await following).map(describeEvent).at(-1)).toBe(
        startsWithTask ? 'task completed' : 'status completed: Counted',
      )
  })

  it('a stream ends when its signal aborts, and the task continues', async () => {
    const service = await open(countingAgent)
    const leaving = new AbortController()
    const events = service.streamMessage({ message: messageOf('wait') }, callOf({ signal: leaving.signal }))
    const taskId = taskIdOf(await nextOf(events))
    setTimeout(() => leaving.abort(), 20)
    await collect(events)
    expect(stateOf(await service.getTask({ taskId }, callOf()))).toBe('working')
  })

  it('a stream can be closed early, and the task continues', async () => {
    const service = await open(countingAgent)
    const events = stream(service, 'wait')
    const taskId = taskIdOf(await nextOf(events))
    await events.return(undefined)
    expect(stateOf(await service.getTask({ taskId }, callOf()))).toBe('working')
  })
}

async function nextOf(events: AsyncGenerator<StreamEvent>): Promise<StreamEvent> {
  const { value, done } = await events.next()
  if (done) throw new Error('the stream ended early')
  return value
}

function contentIn(events: readonly StreamEvent[]): readonly string[] {
  const lines = events.map((event) => describeEvent(event).replace(', last', ''))
  return lines.filter((line) => line !== 'artifact , more')
}
