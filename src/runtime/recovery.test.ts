import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../test/support/async.ts'
import type { AgentFunction } from '../agent/agent.ts'
import { createAgentEvents } from '../agent/turn-output.ts'
import type { JournalEntry, TaskEvent } from '../protocol/events.ts'
import { anonymous } from '../protocol/model.ts'
import type { TaskLog } from '../tasks/log.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import type { RuntimeOptions } from './options.ts'

const task = { taskId: 't', contextId: 'c', owner: 'anonymous' }
const voice = createAgentEvents(task)
const message = (text: string): TaskEvent => ({ type: 'message', message: messageOf(text), principal: anonymous })
const journal = (entry: JournalEntry): TaskEvent => ({ type: 'journal', entry })
const attempt = (number: number, of = 1) => journal({ type: 'attempt', message: of, attempt: number })
const chunk = (text: string): TaskEvent => ({
  type: 'artifact',
  artifact: { artifactId: 'artifact-1-1', name: 'out', parts: [{ text }] },
})

/** A task as a process leaves it that is killed. */
async function abandoned(...events: TaskEvent[]): Promise<TaskLog> {
  const log = createMemoryLog()
  await log.create(task, [message('go'), ...events], { lease: { holder: 'dead', ttl: 0 } })
  return log
}

function house(log: TaskLog, run: AgentFunction, options: Partial<RuntimeOptions>) {
  const opened = createTestRuntime(run, { log, cancelGrace: 20, leaseTtl: 100, ...options })
  onTestFinished(() => opened.drain(0))
  return opened
}

async function endOf(log: TaskLog) {
  await until(async () => ['completed', 'failed', 'canceled'].includes((await log.head('t'))?.phase ?? ''))
  const head = await log.head('t')
  return [head?.phase, head?.status?.message?.parts[0]]
}

it('fails an orphan with a reason unless its agent says otherwise', async () => {
  const log = await abandoned(voice.status('working'))
  house(log, () => 'never', {})
  expect(await endOf(log)).toEqual(['failed', { text: expect.stringContaining('stopped before it had finished') }])
})

it('retries an orphan from its start, and the turn is told which attempt it is', async () => {
  const log = await abandoned(attempt(1), voice.status('working'))
  house(log, (turn) => turn.status('completed', `${turn.text} ${turn.attempt}`), { recovery: 'retry' })
  expect(await endOf(log)).toEqual(['completed', { text: 'go 2' }])
})

it('keeps what an earlier attempt emitted in the log, and lets the new one take the place of its artifacts', async () => {
  const log = await abandoned(attempt(1), voice.status('working', 'first'), chunk('old'))
  const { service } = house(log, (turn) => turn.artifact('out').close('new'), { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('completed')
  const { artifacts, history } = await service.getTask({ taskId: 't' }, callOf())
  expect(artifacts).toEqual([{ artifactId: 'artifact-1-1', name: 'out', parts: [{ text: 'new' }] }])
  expect(history.map(({ parts }) => parts[0])).toEqual([{ text: 'go' }, { text: 'first' }])
  const stored = (await log.read('t', 0)).map(({ event }) => JSON.stringify(event))
  expect(stored.filter((event) => event.includes('"old"'))).toHaveLength(1)
})

it('makes no more attempts than allowed, and says so', async () => {
  let runs = 0
  const run: AgentFunction = () => {
    runs++
  }
  const log = await abandoned(attempt(1), attempt(2), voice.status('working'))
  house(log, run, { recovery: { policy: 'retry', attempts: 2 } })
  expect(await endOf(log)).toEqual(['failed', { text: expect.stringContaining('stopped 2 times') }])
  expect(runs).toBe(0)
})

it('does not count an attempt that was handed over in good order', async () => {
  const log = await abandoned(attempt(1), journal({ type: 'handed-over' }), attempt(2), voice.status('working'))
  house(log, (turn) => turn.status('completed', `${turn.attempt}`), { recovery: { policy: 'retry', attempts: 2 } })
  expect(await endOf(log)).toEqual(['completed', { text: '3' }])
})

it('gives a new attempt the answers again that the caller has given', async () => {
  const log = await abandoned(
    attempt(1),
    voice.status('input-required', 'Which?'),
    message('the red one'),
    voice.status('working'),
  )
  const run: AgentFunction = async (turn) => {
    const answer = await turn.ask('Which?')
    await turn.status('completed', answer.text)
  }
  house(log, run, { recovery: 'retry' })
  expect(await endOf(log)).toEqual(['completed', { text: 'the red one' }])
})

it('retries the turn that was under way, and not one before it', async () => {
  const log = await abandoned(
    attempt(1),
    voice.status('input-required', 'More?'),
    journal({ type: 'rested', answered: 1 }),
    message('second'),
    attempt(1, 5),
    voice.status('working'),
    message('third'),
  )
  const told: string[] = []
  const run: AgentFunction = (turn) => {
    told.push(`${turn.text} ${turn.attempt} after ${turn.history.length}`)
  }
  house(log, run, { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('completed')
  expect(told).toEqual(['second 2 after 2', 'third 1 after 3'])
})

it('runs a message whose process died before its turn began', async () => {
  const log = await abandoned(
    attempt(1),
    voice.status('input-required'),
    journal({ type: 'rested', answered: 1 }),
    message('next'),
  )
  house(log, (turn) => turn.status('completed', `${turn.text} ${turn.attempt}`), { recovery: 'retry' })
  expect(await endOf(log)).toEqual(['completed', { text: 'next 1' }])
})

it('cancels an orphan whose caller wanted it canceled', async () => {
  const log = await abandoned(attempt(1), voice.status('working'), { type: 'cancel' })
  house(log, () => 'never', { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('canceled')
})

it('fails an orphan that was begun before its agent had a policy', async () => {
  const log = await abandoned(voice.status('working'))
  house(log, () => 'never', { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('failed')
})

it('goes on with a task that was begun before its agent had a policy', async () => {
  const log = createMemoryLog()
  const before = house(log, (turn) => turn.requireInput('More?'), {})
  const { id } = taskOf(await send(before.service, 'go'))
  const after = house(log, (turn) => turn.status('completed', turn.text), { recovery: 'retry' })
  expect(taskOf(await send(after.service, 'more', { taskId: id })).status).toMatchObject({
    state: 'completed',
    message: { parts: [{ text: 'more' }] },
  })
})

it('hands a turn that is still at work when the server goes to whoever is there', async () => {
  const log = createMemoryLog()
  const begun = deferred()
  const leaving = house(
    log,
    async (turn) => {
      await turn.status('working', 'at work')
      begun.resolve()
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    },
    { recovery: 'retry', leaseTtl: 60_000 },
  )
  const { id } = taskOf(await send(leaving.service, 'go', { returnImmediately: true }))
  await begun.promise
  await leaving.drain(0)
  expect(await log.orphans(10)).toMatchObject([{ taskId: id, phase: 'working' }])
  house(log, (turn) => turn.status('completed', `attempt ${turn.attempt}`), { recovery: 'retry', leaseTtl: 60_000 })
  await until(async () => (await log.head(id))?.phase === 'completed')
  expect((await log.head(id))?.status?.message?.parts).toEqual([{ text: 'attempt 2' }])
})

it.each([['again'], [{ policy: 'retry', attempts: 0 }]])('refuses the policy %j', (recovery) => {
  const wrong = recovery as unknown as 'retry'
  expect(() => createTestRuntime(() => 'x', { recovery: wrong })).toThrow(/^recovery/)
})

it.each(['fail', 'retry'] as const)('finds all orphans in one go, however many: policy %s', async (recovery) => {
  const log = createMemoryLog()
  const ids = Array.from({ length: 350 }, (_, index) => `t-${index}`)
  for (const taskId of ids) {
    await log.create({ ...task, taskId }, [message('go'), attempt(1)], { lease: { holder: 'dead', ttl: 0 } })
  }
  house(log, (turn) => turn.status('completed'), { recovery, leaseTtl: 60_000 })
  const end = recovery === 'fail' ? 'failed' : 'completed'
  await until(async () => (await log.list({ owner: 'anonymous', phase: end, limit: 1 })).total === ids.length)
})
