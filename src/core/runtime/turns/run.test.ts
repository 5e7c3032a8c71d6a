import { describe, expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'
import { StoreUnavailable } from '../../protocol/errors.ts'
import { anonymous, type Task } from '../../protocol/model.ts'
import { isEnded } from '../../protocol/states.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

const conversationOf = (task: Task) =>
  [...task.history, ...(task.status.message ? [task.status.message] : [])].map(({ role, parts: [part] }) =>
    part && 'text' in part ? `${role}: ${part.text}` : role,
  )

it('a task that required input continues with its history in order', async () => {
  const histories: number[] = []
  const { service } = createTestRuntime(async (turn) => {
    histories.push(turn.history.length)
    if (!turn.task) return await turn.requireInput('Which city?')
    await turn.status('working', `Looking up ${turn.text}`)
    return `Sunny in ${turn.text}`
  })
  const waiting = taskOf(await send(service, 'weather'))
  expect(waiting.status.state).toBe('input-required')
  const done = taskOf(await send(service, 'Rome', { taskId: waiting.id }))
  expect(done.id).toBe(waiting.id)
  expect(conversationOf(done)).toEqual([
    'user: weather',
    'agent: Which city?',
    'user: Rome',
    'agent: Looking up Rome',
    'agent: Sunny in Rome',
  ])
  expect(histories).toEqual([0, 2])
})

it('a turn continues with the answer to its question', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const answer = await turn.ask('Sure?')
    return `You are ${answer.text}`
  })
  const waiting = taskOf(await send(service, 'do it'))
  expect(waiting.status.state).toBe('input-required')
  const done = taskOf(await send(service, 'sure', { taskId: waiting.id }))
  expect(conversationOf(done)).toEqual(['user: do it', 'agent: Sure?', 'user: sure', 'agent: You are sure'])
})

it('a message for a running task becomes the next turn, and all streams continue', async () => {
  const go = deferred()
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working', `Begin ${turn.text}`)
    if (turn.text === 'one') await go.promise
    await turn.artifact(turn.text).close(turn.text)
    return `Done ${turn.text}`
  })
  const stream = service.streamMessage({ message: messageOf('one') }, callOf())
  const first = (await stream.next()).value
  const taskId = first?.type === 'task' ? first.task.id : ''
  const second = send(service, 'two', { taskId })
  await until(async () => (await service.getTask({ taskId }, callOf())).history.length === 3)
  go.resolve()
  const task = taskOf(await second)
  const events = await collect(stream)
  expect(task.status.state).toBe('completed')
  expect(task.artifacts.map(({ name }) => name)).toEqual(['one', 'two'])
  expect(conversationOf(task)).toEqual([
    'user: one',
    'agent: Begin one',
    'user: two',
    'agent: Done one',
    'agent: Begin two',
    'agent: Done two',
  ])
  const generations = events.map((event) => ('generation' in event ? event.generation : 0))
  expect(generations).toEqual([...generations].sort((a, b) => a - b))
  expect(new Set(generations).size).toBe(generations.length)
  expect(events.filter((event) => event.type === 'status' && event.status.state === 'completed')).toHaveLength(1)
})

it('concurrent messages run once each, in the order in which they were stored', async () => {
  const go = deferred()
  const seen: string[] = []
  const { service, log } = createTestRuntime(async (turn) => {
    await turn.status('working')
    if (turn.text === 'first') await go.promise
    seen.push(turn.text)
  })
  const stream = service.streamMessage({ message: messageOf('first') }, callOf())
  const first = (await stream.next()).value
  const taskId = first?.type === 'task' ? first.task.id : ''
  const rest = Array.from({ length: 20 }, (_, n) => send(service, `${n}`, { taskId }))
  await until(async () => (await service.getTask({ taskId }, callOf())).history.length === 21)
  go.resolve()
  const tasks = (await Promise.all(rest)).map(taskOf)
  const stored = (await log.read(taskId, 0)).flatMap(({ event }) =>
    event.type === 'message' ? event.message.parts.map((part) => ('text' in part ? part.text : '')) : [],
  )
  expect(seen).toEqual(stored)
  expect(tasks.every(({ status }) => status.state === 'completed')).toBe(true)
})

it('an interrupted turn stores nothing more', async () => {
  const late = deferred<unknown>()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working', `Begin ${turn.text}`)
      if (turn.text === 'two') return 'Two it is'
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      setTimeout(() => turn.status('completed', 'One after all').then(late.resolve, late.resolve), 20)
      throw new Error('stopped')
    },
    { whileBusy: 'interrupt' },
  )
  const { id } = taskOf(await send(service, 'one', { returnImmediately: true }))
  const task = taskOf(await send(service, 'two', { taskId: id }))
  expect(conversationOf(task).at(-1)).toBe('agent: Two it is')
  expect(String(await late.promise)).toContain('is over')
  expect(conversationOf(await service.getTask({ taskId: id }, callOf()))).not.toContain('agent: One after all')
})

describe('a failing store', () => {
  it('a task ends once if its last event was stored although the store reported a failure', async () => {
    const memory = createMemoryLog()
    const log: TaskLog = {
      ...memory,
      async append(taskId, after, events, options) {
        const appended = await memory.append(taskId, after, events, options)
        const isLast = events.some((event) => event.type === 'status' && event.status.state === 'completed')
        if (isLast) throw new StoreUnavailable(new Error('the response was lost'))
        return appended
      },
    }
    const { service, drain } = createTestRuntime(
      async (turn) => {
        await turn.status('working')
        void turn.data({ last: true })
      },
      { log },
    )
    const task = taskOf(await send(service, 'go'))
    expect(task.status.state).toBe('completed')
    expect(task.artifacts).toHaveLength(1)
    await drain(1_000) // the run tries to store a failure meanwhile
    const ended = (await memory.read(task.id, 0)).filter(
      ({ event }) => event.type === 'status' && isEnded(event.status.state),
    )
    expect(ended).toHaveLength(1)
  })

  it.each(['retry', 'resume'] as const)(
    'with the policy %s, a turn whose events were lost runs again',
    async (policy) => {
      const memory = createMemoryLog()
      let failures = 0
      const log: TaskLog = {
        ...memory,
        append(taskId, after, events, options) {
          if (failures > 0 || !events.some(({ type }) => type === 'artifact')) {
            return memory.append(taskId, after, events, options)
          }
          failures++
          return Promise.reject(new StoreUnavailable(new Error('the disk is full')))
        },
      }
      const { service } = createTestRuntime(
        async (turn) => {
          await turn.status('working')
          const report = turn.artifact('report')
          await report.write('one').catch(() => {})
          await report.close('two').catch(() => {})
          return 'done'
        },
        { log, recovery: policy, leaseTtl: 100, cancelGrace: 0 },
      )
      await expect(send(service, 'go')).rejects.toMatchObject({ code: 'unavailable' })
      const list = () => service.listTasks({ includeArtifacts: true }, callOf())
      await until(async () => (await list()).tasks[0]?.status.state === 'completed')
      const [task] = (await list()).tasks
      expect(task?.artifacts[0]?.parts).toEqual([{ text: 'onetwo' }])
    },
  )
})

it.each(['fail', 'resume'] as const)(
  'a message that interrupts a turn is no answer, with the policy %s',
  async (recovery) => {
    const inner = createMemoryLog()
    let isFirst = true
    const log: TaskLog = {
      ...inner,
      async append(taskId, after, events, options) {
        // The message is stored while the question is on its way.
        const isQuestion = events.some((event) => event.type === 'status' && event.status.state === 'input-required')
        if (isQuestion && isFirst) {
          isFirst = false
          await inner.append(taskId, after, [{ type: 'message', message: messageOf('stop'), principal: anonymous }], {})
        }
        return await inner.append(taskId, after, events, options)
      },
    }
    const { service } = createTestRuntime(
      async (turn) => {
        if (turn.text !== 'go') return `Next: ${turn.text}`
        await turn.flush() // the task is stored, so the question is appended to it
        return `Answered: ${(await turn.ask('Sure?')).text}`
      },
      { log, recovery, whileBusy: 'interrupt', cancelGrace: 20 },
    )
    const { status } = taskOf(await send(service, 'go'))
    expect(status).toMatchObject({ state: 'completed', message: { parts: [{ text: 'Next: stop' }] } })
  },
)
