import { isList, isObject } from '../../core/base/json.ts'
import { describe, expectError, isInterrupted, isTerminal, requireTask, sentMessage, sentTask } from '../answers.ts'
import { isCurrent, type Version } from '../interface.ts'
import { messageParams } from '../requests.ts'
import { jsonBindings, type Rule } from '../rule.ts'
import type { ConformanceSession } from '../session.ts'
import { expectThat, measureIf, NotMeasured } from '../verdict.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']
const since02: readonly Version[] = ['1.0', '0.3', '0.2']

/** Only 1.0 demands it. */
const historyLimit: Omit<Rule, 'level' | 'versions'> = {
  id: 'send/history-limit',
  title: 'The answer has no more history than the caller wants.',
  sends: 'a message with historyLength 1',
  expects: 'a task with at most one message in its history',
  async check(session) {
    const answer = await session.send({ text: await session.text('task'), historyLength: 1 })
    const { history } = requireSent(session, answer).wire
    const length = isList(history) ? history.length : 0
    expectThat(length <= 1, `The history has ${length} messages.`)
  },
}

/** Rules about messages that callers send, and about the tasks and contexts that they belong to. */
export const sendRules: readonly Rule[] = [
  {
    id: 'send/answer',
    level: 'MUST',
    versions: all,
    title: 'A message is answered with a task or with a message.',
    sends: 'a message',
    expects: 'exactly one of task and message (0.1: a task)',
    async check(session) {
      const answer = await session.send({ text: await someText(session) })
      const { target } = session.wire
      const [task, message] = [sentTask(answer, target), sentMessage(answer, target)]
      expectThat(task || message, `Expected a task or a message, got ${describe(answer)}.`)
      expectThat(!(task && message), 'The answer has both a task and a message.')
    },
  },
  {
    id: 'send/task-id',
    level: 'MUST',
    versions: since02,
    title: 'The server makes a unique id for every task.',
    sends: 'the same text twice, without a task id',
    expects: 'two tasks with different ids',
    async check(session) {
      const text = await session.text('task')
      const [one, other] = [await session.send({ text }), await session.send({ text })].map((answer) =>
        sentTask(answer, session.wire.target),
      )
      measureIf(one && other, 'The agent did not answer with tasks.')
      expectThat(one.id !== other.id, `Both tasks have the id ${one.id}.`)
    },
  },
  {
    id: 'send/task-id-kept',
    level: 'MUST',
    versions: ['0.1'],
    title: 'A task has the id that the caller chose.',
    sends: 'a message with a new task id',
    expects: 'a task with this id',
    async check(session) {
      const taskId = crypto.randomUUID()
      const answer = await session.send({ text: await session.text('task'), taskId })
      const { id } = requireSent(session, answer)
      expectThat(id === taskId, `Expected a task with the id ${taskId}, got ${id}.`)
    },
  },
  {
    id: 'send/context-id',
    level: 'MUST',
    versions: since02,
    title: 'A context id that the server made is in the answer.',
    sends: 'a message without a context id',
    expects: 'a task or message with a contextId',
    async check(session) {
      const answer = await session.send({ text: await someText(session) })
      const { target } = session.wire
      const message = sentMessage(answer, target)
      const contextId = message ? message.contextId : sentTask(answer, target)?.contextId
      measureIf(sentTask(answer, target) || message, 'The agent answered with neither a task nor a message.')
      expectThat(typeof contextId === 'string' && contextId !== '', 'The answer has no contextId.')
    },
  },
  {
    id: 'send/context-kept',
    level: 'MUST',
    versions: all,
    title: "The server does not replace the caller's context id.",
    sends: 'a message with the context id of a finished task (0.1: a new session id)',
    expects: 'the same context id, or an error',
    async check(session) {
      const { target } = session.wire
      const contextId = target.version === '0.1' ? crypto.randomUUID() : (await session.completedTask()).contextId
      measureIf(contextId !== undefined, 'The agent sends no context ids.')
      const answer = await session.send({ text: await session.text('task'), contextId })
      if (answer.isError) return
      const { contextId: actual } = requireSent(session, answer)
      expectThat(actual === contextId, `Expected the context ${contextId}, got ${actual}.`)
    },
  },
  {
    id: 'send/blocking',
    level: 'MUST',
    versions: since02,
    title: 'A blocking call returns when the task has ended or is interrupted.',
    sends: 'a message, to be answered when the task rests',
    expects: 'a task in a terminal or interrupted state',
    async check(session) {
      const answer = await session.send({ text: await session.text('task') })
      const task = sentTask(answer, session.wire.target)
      measureIf(task, 'The agent did not answer with a task.')
      const isAtRest = isTerminal(task.state) || isInterrupted(task.state)
      expectThat(isAtRest, `The task is ${JSON.stringify(isObject(task.wire.status) && task.wire.status.state)}.`)
    },
  },
  {
    id: 'send/latest-state',
    level: 'MUST',
    versions: ['1.0'],
    title: 'The answer of a blocking call has all artifacts of the task.',
    sends: 'a message, and a get for its task',
    expects: 'the same artifacts in both answers',
    async check(session) {
      const task = await session.completedTask()
      const later = requireTask(await session.wire.call('get', { id: task.id }), session.wire.target)
      const isSame = JSON.stringify(task.wire.artifacts ?? []) === JSON.stringify(later.wire.artifacts ?? [])
      expectThat(isSame, 'The answer of send and the answer of get have different artifacts.')
    },
  },
  {
    id: 'send/return-immediately',
    level: 'MUST',
    versions: since02,
    title: 'A call that does not wait returns right after the task was created.',
    sends: 'a message for a long task, with returnImmediately (0.x: blocking false)',
    expects: 'a task that has not ended',
    async check(session) {
      const text = await session.text('longRunning')
      const answer = await session.send({ text, returnImmediately: true })
      const task = requireSent(session, answer)
      const { id, state } = task
      const isOpen = state !== undefined && !isTerminal(state)
      await session.wire.call('cancel', { id })
      expectThat(isOpen, `Expected a task that works, got the state ${state}.`)
    },
  },
  {
    id: 'send/terminal-task',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    title: 'A message to a task that has ended is refused.',
    sends: 'a message with the id of a completed task',
    expects: 'UnsupportedOperation (0.3: any error)',
    async check(session) {
      const { id: taskId } = await session.completedTask()
      const exchange = await session.send({ text: await session.text('task'), taskId })
      if (isCurrent(session.wire.target.version)) {
        expectError({ exchange, name: 'UnsupportedOperation' }, session.wire.target)
      }
      expectThat(exchange.isError, `Expected an error, got ${describe(exchange)}.`)
    },
  },
  {
    id: 'send/unknown-task',
    level: 'MUST',
    versions: since02,
    title: 'A message to a task that does not exist is refused.',
    sends: 'a message with an unknown task id',
    expects: 'TaskNotFound',
    async check(session) {
      const exchange = await session.send({ text: 'Hello', taskId: unknownId() })
      expectError({ exchange, name: 'TaskNotFound' }, session.wire.target)
    },
  },
  {
    id: 'send/content-type',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A part with a media type that the agent does not accept is refused.',
    sends: 'a part of the type application/x-conformance-unknown',
    expects: 'ContentTypeNotSupported',
    async check(session) {
      const modes = session.card.defaultInputModes
      const isOpen = isList(modes) && modes.some((mode) => mode === '*/*' || mode === 'application/*')
      measureIf(!isOpen, 'The card accepts every media type.')
      const parts = [{ raw: 'AAEC', mediaType: 'application/x-conformance-unknown' }]
      const exchange = await session.send({ parts })
      expectError({ exchange, name: 'ContentTypeNotSupported' }, session.wire.target)
    },
  },
  {
    id: 'send/no-parts',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A message without parts is refused.',
    sends: 'a message with an empty list of parts',
    expects: 'an error for invalid params (-32602, HTTP 400)',
    async check(session) {
      const exchange = await session.send({ parts: [] })
      expectError({ exchange, name: 'InvalidParams' }, session.wire.target)
    },
  },
  {
    id: 'send/no-message',
    level: 'MUST',
    versions: all,
    title: 'Params without a message are refused.',
    sends: 'send with params that have no message',
    expects: 'an error for invalid params (-32602, HTTP 400)',
    async check({ wire }) {
      const { message: _, ...params } = messageParams({}, wire.target)
      expectError({ exchange: await wire.call('send', params), name: 'InvalidParams' }, wire.target)
    },
  },
  {
    id: 'send/no-message-id',
    level: 'SHOULD',
    versions: ['1.0'],
    title: 'A message without an id is refused.',
    sends: 'a message with an empty messageId',
    expects: 'an error for invalid params (-32602, HTTP 400)',
    async check(session) {
      const exchange = await session.send({ text: 'Hello', messageId: '' })
      expectError({ exchange, name: 'InvalidParams' }, session.wire.target)
    },
  },
  {
    id: 'send/context-inferred',
    level: 'MUST',
    versions: since02,
    title: 'The context of a message follows from its task.',
    sends: 'a message with the id of a waiting task, without a context id',
    expects: 'the same task in the same context',
    async check(session) {
      const waiting = await session.waitingTask()
      const answer = await session.send({ text: await session.text('inputRequired'), taskId: waiting.id })
      const task = requireSent(session, answer)
      measureIf(waiting.contextId !== undefined, 'The agent sends no context ids.')
      expectThat(task.id === waiting.id, `Expected the task ${waiting.id}, got ${task.id}.`)
      expectThat(task.contextId === waiting.contextId, `The context changed to ${task.contextId}.`)
    },
  },
  {
    id: 'send/context-mismatch',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A message whose context is not that of its task is refused.',
    sends: 'a message with the id of a waiting task and another context id',
    expects: 'an error',
    async check(session) {
      const { id: taskId } = await session.waitingTask()
      const answer = await session.send({ text: 'Hello', taskId, contextId: unknownId() })
      expectThat(answer.isError, `Expected an error, got ${describe(answer)}.`)
    },
  },
  {
    id: 'send/question',
    level: 'SHOULD',
    versions: all,
    title: 'A task that requires input says which.',
    sends: 'a message after which the task waits for input',
    expects: 'a status with a message',
    async check(session) {
      const { wire } = await session.waitingTask()
      const { status } = wire
      // The proto file of 0.3 names this member `update`.
      const isExplained = isObject(status) && (isObject(status.message) || isObject(status.update))
      expectThat(isExplained, 'The status of the waiting task has no message.')
    },
  },
  { ...historyLimit, level: 'MUST', versions: ['1.0'] },
  { ...historyLimit, level: 'SHOULD', versions: ['0.3', '0.2'] },
  {
    id: 'send/output-in-artifacts',
    level: 'SHOULD',
    versions: ['1.0', '0.3'],
    title: 'The results of a completed task are artifacts.',
    sends: 'a message whose task completes',
    expects: 'a task with artifacts',
    async check(session) {
      const { artifacts } = (await session.completedTask()).wire
      expectThat(isList(artifacts) && artifacts.length > 0, 'The completed task has no artifacts.')
    },
  },
  {
    id: 'send/unknown-members',
    level: 'SHOULD',
    versions: since02,
    bindings: jsonBindings,
    title: 'Members that the server does not know are ignored.',
    sends: 'a message, and beside it a member that no version has',
    expects: 'the same answer as without',
    async check(session) {
      const params = messageParams({ text: await someText(session) }, session.wire.target)
      const answer = await session.wire.call('send', { ...params, xConformance: { any: 'thing' } })
      expectThat(!answer.isError, `Expected an answer, got ${describe(answer)}.`)
    },
  },
]

/** A text that the agent answers in any way. */
export async function someText(session: ConformanceSession): Promise<string> {
  return await session.text('task').catch(() => session.text('message').catch(() => 'Hello'))
}

export function unknownId(): string {
  return `conformance-${crypto.randomUUID()}`
}

function requireSent(session: ConformanceSession, answer: Awaited<ReturnType<ConformanceSession['send']>>) {
  const task = sentTask(answer, session.wire.target)
  if (!task) throw new NotMeasured(`The agent did not answer with a task, but with ${describe(answer)}.`)
  return task
}
