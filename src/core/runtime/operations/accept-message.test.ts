import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect } from '../../../../test/support/async.ts'
import type { RecoveryPolicy } from '../../agent/agent.ts'
import { createAgentEvents } from '../../agent/content.ts'
import { GenerationMismatch } from '../../protocol/errors.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import { anonymous, type Principal } from '../../protocol/model.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'
import type { Policy } from '../options.ts'

it('a message to an ended task, another context or an unknown task is rejected', async () => {
  const { service } = createTestRuntime(async (turn) => {
    if (turn.text === 'ask') await turn.requireInput('?')
    else await turn.status('completed')
  })
  const ended = taskOf(await send(service, 'x'))
  await expect(send(service, 'y', { taskId: ended.id })).rejects.toMatchObject({ code: 'task-ended' })
  const open = taskOf(await send(service, 'ask'))
  const elsewhere = { message: messageOf('y', { taskId: open.id, contextId: 'other' }) }
  await expect(service.sendMessage(elsewhere, callOf())).rejects.toMatchObject({ code: 'invalid-params' })
  await expect(send(service, 'y', { taskId: 'nowhere' })).rejects.toMatchObject({ code: 'task-not-found' })
})

it.each(['input-required', 'auth-required'] as const)(
  'a task in the state %s no longer asks once it is answered, in the same write as the answer',
  async (state) => {
    const log = createMemoryLog()
    const writes: string[] = []
    const append: typeof log.append = (taskId, generation, events, options) => {
      writes.push(events.map((event) => (event.type === 'status' ? event.status.state : event.type)).join(', '))
      return log.append(taskId, generation, events, options)
    }
    const thinking = Promise.withResolvers<void>()
    const { service } = createTestRuntime(
      async (turn) => {
        if (state === 'auth-required') await turn.requireAuth('key')
        else if (!turn.task) return await turn.requireInput('?')
        await thinking.promise
        return 'thanks'
      },
      { log: { ...log, append } },
    )
    const { id: taskId, status } = taskOf(await send(service, 'x'))
    expect(status).toMatchObject({ state, message: { role: 'agent' } })
    writes.length = 0
    const credentials = { scheme: 'key', credentials: 'secret' }
    const part = { data: credentials, mediaType: 'application/vnd.a2a.credentials+json' }
    const message = { ...messageOf('y', { taskId }), parts: [{ text: 'y' }, part] }
    const configuration = { returnImmediately: true }
    const answered = taskOf(await service.sendMessage({ message, configuration }, callOf()))
    expect(answered.status).toEqual({ state: 'working', timestamp: expect.any(String) })
    expect((await service.getTask({ taskId }, callOf())).status).toEqual(answered.status)
    expect(writes[0]).toBe('message, working')
    thinking.resolve()
  },
)

describe('a task alias', () => {
  it('an alias creates a task and continues it', async () => {
    const { service } = createTestRuntime((turn) => (turn.task ? 'thanks' : turn.requireInput('?')))
    const created = taskOf(await service.sendMessage({ message: messageOf('x'), quirks: { alias: 'mine' } }, callOf()))
    expect(created).toMatchObject({ status: { state: 'input-required' } })
    expect(created.id).not.toBe('mine')
    const ended = taskOf(await service.sendMessage({ message: messageOf('y'), quirks: { alias: 'mine' } }, callOf()))
    expect(ended).toMatchObject({ id: created.id, status: { state: 'completed' } })
    expect(await service.getTask({ taskId: 'mine', isAlias: true }, callOf())).toEqual(ended)
    expect(await service.getTask({ taskId: created.id, isAlias: true }, callOf())).toEqual(ended)
    await expect(service.getTask({ taskId: 'mine' }, callOf())).rejects.toMatchObject({ code: 'task-not-found' })
  })

  it('two callers can use the same alias', async () => {
    const { service } = createTestRuntime((turn) => `for ${turn.principal.id}`)
    const ids = ['ann', 'bob'].map(async (id) => {
      const call = callOf({ principal: { id } })
      return taskOf(await service.sendMessage({ message: messageOf('x'), quirks: { alias: 'same' } }, call)).id
    })
    const [ann, bob] = await Promise.all(ids)
    expect(ann).not.toBe(bob)
  })

  it('two concurrent messages with a new alias create one task', async () => {
    const { service } = createTestRuntime(async (turn) => {
      await turn.artifact(turn.text).close(turn.text)
    })
    const sends = ['a', 'b'].map((text) =>
      service.sendMessage({ message: messageOf(text), quirks: { alias: 'one' } }, callOf()),
    )
    const done = await Promise.allSettled(sends)
    const tasks = done.flatMap((result) => (result.status === 'fulfilled' ? [taskOf(result.value)] : []))
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
  })

  it('a task without an alias is continued by its id', async () => {
    const { service } = createTestRuntime((turn) => (turn.task ? 'thanks' : turn.requireInput('?')))
    const { id } = taskOf(await service.sendMessage({ message: messageOf('x') }, callOf()))
    const ended = taskOf(await service.sendMessage({ message: messageOf('y'), quirks: { alias: id } }, callOf()))
    expect(ended).toMatchObject({ id, status: { state: 'completed' } })
  })

  it('errors name a task by its alias', async () => {
    const { service } = createTestRuntime((turn) => turn.status('completed'))
    const { id } = taskOf(await service.sendMessage({ message: messageOf('x'), quirks: { alias: 'mine' } }, callOf()))
    const again = service.sendMessage({ message: messageOf('y'), quirks: { alias: 'mine' } }, callOf())
    const canceled = service.cancelTask({ taskId: 'mine', isAlias: true }, callOf())
    const followed = collect(service.subscribeToTask({ taskId: 'mine', isAlias: true }, callOf()))
    for (const refused of await Promise.allSettled([again, canceled, followed])) {
      expect(refused).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('mine') } })
      expect(JSON.stringify(refused)).not.toContain(id)
    }
  })
})

describe('a referenced task', () => {
  const alice: Principal = { id: 'alice', tenant: 'acme' }

  const bob: Principal = { id: 'bob', tenant: 'acme' }

  /** An agent that asks a question first, so that there is a task to continue. */
  function createAskingRuntime(policy?: Policy) {
    return createTestRuntime(
      async (turn) => (turn.task ? `done for ${turn.principal.id}` : await turn.requireInput('?')),
      {
        ...(policy && { policy }),
      },
    )
  }

  it('a message reveals nothing about the tasks that it references', async () => {
    const { service } = createAskingRuntime()
    const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
    const refer = (taskId: string, principal: Principal) =>
      service.sendMessage({ message: messageOf('see', { referenceTaskIds: [taskId] }) }, callOf({ principal }))
    for (const [taskId, principal] of [
      [id, alice],
      [id, bob],
      ['of another agent', bob],
    ] as const) {
      const task = taskOf(await refer(taskId, principal))
      expect(task.status.state).toBe('input-required')
      expect(task.history.at(-1)).toMatchObject({ referenceTaskIds: [taskId] })
      expect(JSON.stringify(task)).not.toContain('"x"')
    }
  })
})

describe('a message to a task whose process is gone', () => {
  const task = { taskId: 't', contextId: 'c', owner: 'anonymous' }
  const attempt: TaskEvent = { type: 'journal', entry: { type: 'attempt', message: 1, attempt: 1 } }
  const toEvent = (text: string): TaskEvent => ({ type: 'message', message: messageOf(text), principal: anonymous })

  /** The lease expires long before the runtime looks for orphans again. */
  async function sendToOrphan(recovery: RecoveryPolicy, ...events: readonly TaskEvent[]) {
    const log = createMemoryLog()
    const texts: string[] = []
    const runtime = createTestRuntime(
      (turn) => {
        texts.push(turn.text)
        return turn.text
      },
      { log, recovery, leaseTtl: 60_000 },
    )
    onTestFinished(() => runtime.drain(0))
    const working = createAgentEvents(task).status('working')
    await log.create(task, [toEvent('first'), attempt, working, ...events], { lease: { holder: 'dead', ttl: 0 } })
    const outcome = await send(runtime.service, 'last', { taskId: 't' })
    return { state: taskOf(outcome).status.state, texts }
  }

  it('a message to a task whose process is gone fails the task if the agent recovers none', async () => {
    expect(await sendToOrphan('fail', toEvent('second'))).toEqual({ state: 'failed', texts: [] })
  })

  it('a message to a task whose process is gone continues the task with all its messages if the agent retries', async () => {
    expect(await sendToOrphan('retry', toEvent('second'))).toEqual({
      state: 'completed',
      texts: ['first', 'second', 'last'],
    })
  })

  it.each(['fail', 'retry', 'resume'] as const)(
    'a message to a task whose process is gone does not undo a cancel, with the policy %s',
    async (recovery) => {
      expect(await sendToOrphan(recovery, { type: 'cancel' })).toEqual({ state: 'canceled', texts: [] })
    },
  )
})

it('a message for another revision of its task is rejected with both numbers, and stores nothing', async () => {
  const { service, log } = createTestRuntime((turn) => turn.requireInput('?'))
  const { id: taskId, revision = 0 } = taskOf(await send(service, 'x'))
  const stale = send(service, 'y', { taskId, ifRevision: revision - 1 })
  await expect(stale).rejects.toBeInstanceOf(GenerationMismatch)
  const metadata = { taskId, expectedGeneration: `${revision - 1}`, currentGeneration: `${revision}` }
  await expect(stale).rejects.toMatchObject({ code: 'task-generation-mismatch', metadata })
  const { generation } = await service.getTask({ taskId }, callOf())
  expect((await log.head(taskId))?.generation).toBe(generation)
  const answered = taskOf(await send(service, 'y', { taskId, ifRevision: revision, messageId: 'once' }))
  expect(answered.revision).toBe(revision + 2) // working, input-required
  // A repetition is the message that was accepted, although the task has changed since.
  const repeated = send(service, 'y', { taskId, ifRevision: revision, messageId: 'once' })
  expect(taskOf(await repeated).revision).toBe(revision + 2)
  // A message that creates a task has nothing to compare.
  expect(taskOf(await send(service, 'z', { ifRevision: 99 })).revision).toBe(revision)
})

it('of two messages for the same revision of a waiting task, one is accepted', async () => {
  const { service } = createTestRuntime((turn) => turn.requireInput('?'))
  const { id: taskId } = taskOf(await send(service, 'x'))
  for (let round = 0; round < 20; round++) {
    const { revision } = await service.getTask({ taskId }, callOf())
    const sent = ['a', 'b'].map((text) => send(service, text, { taskId, ifRevision: revision }))
    const outcomes = await Promise.allSettled(sent)
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  }
})
