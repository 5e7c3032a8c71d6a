import { isList, isObject } from '../../core/base/json.ts'
import { describe, expectError, listOf, requireTask, stateOf } from '../answers.ts'
import type { Version } from '../interface.ts'
import { jsonBindings, type Rule } from '../rule.ts'
import type { ConformanceSession } from '../session.ts'
import { expectThat, measureIf } from '../verdict.ts'
import { unknownId } from './send.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']
const current: readonly Version[] = ['1.0']

/** Only 1.0 demands it. */
const historyLimit: Omit<Rule, 'level' | 'versions'> = {
  id: 'get/history-limit',
  title: 'Get returns no more history than the caller wants.',
  sends: 'a get with historyLength 1',
  expects: 'a task with at most one message in its history',
  async check(session) {
    const { id } = await session.completedTask()
    const task = requireTask(await session.wire.call('get', { id, historyLength: 1 }), session.wire.target)
    const length = listOf(task.wire.history).length
    expectThat(length <= 1, `The history has ${length} messages.`)
  },
}

/** Rules about tasks: reading, listing and canceling them. */
export const taskRules: readonly Rule[] = [
  {
    id: 'get/current',
    level: 'MUST',
    versions: all,
    title: 'Get returns the current state of a task.',
    sends: 'a get for a completed task',
    expects: 'the task, completed',
    async check(session) {
      const { id } = await session.completedTask()
      const task = requireTask(await session.wire.call('get', { id }), session.wire.target)
      expectThat(task.id === id, `Expected the task ${id}, got ${task.id}.`)
      expectThat(task.state === 'completed', `Expected a completed task, got ${task.state}.`)
    },
  },
  {
    id: 'get/unknown',
    level: 'MUST',
    versions: all,
    title: 'Get of a task that does not exist is refused.',
    sends: 'a get with an unknown id',
    expects: 'TaskNotFound',
    async check({ wire }) {
      expectError({ exchange: await wire.call('get', { id: unknownId() }), name: 'TaskNotFound' }, wire.target)
    },
  },
  { ...historyLimit, level: 'MUST', versions: current },
  { ...historyLimit, level: 'SHOULD', versions: ['0.3', '0.2', '0.1'] },
  {
    id: 'get/no-history',
    level: 'SHOULD',
    versions: current,
    title: 'Get with historyLength 0 returns no history.',
    sends: 'a get with historyLength 0',
    expects: 'a task without history',
    async check(session) {
      const { id } = await session.completedTask()
      const task = requireTask(await session.wire.call('get', { id, historyLength: 0 }), session.wire.target)
      expectThat(listOf(task.wire.history).length === 0, 'The task has a history.')
    },
  },
  {
    id: 'get/negative-history',
    level: 'SHOULD',
    versions: current,
    title: 'A negative history length is refused.',
    sends: 'a get with historyLength -1',
    expects: 'an error for invalid params (-32602, HTTP 400)',
    async check(session) {
      const { id } = await session.completedTask()
      const exchange = await session.wire.call('get', { id, historyLength: -1 })
      expectError({ exchange, name: 'InvalidParams' }, session.wire.target)
    },
  },
  {
    id: 'list/shape',
    level: 'MUST',
    versions: current,
    bindings: jsonBindings,
    title: 'A list always has tasks and a nextPageToken.',
    sends: 'a list for an unknown context',
    expects: 'an empty list of tasks, and an empty nextPageToken',
    async check({ wire }) {
      const { result } = await wire.call('list', { contextId: unknownId() })
      expectThat(isObject(result) && isList(result.tasks), 'The answer has no list of tasks.')
      expectThat(result.nextPageToken === '', `nextPageToken is ${JSON.stringify(result.nextPageToken)}.`)
    },
  },
  {
    id: 'list/total-size',
    level: 'MUST',
    versions: current,
    title: 'A list says how many tasks there are on all pages.',
    sends: 'a list with pageSize 1, in a context of two tasks',
    expects: 'a totalSize of at least 2',
    async check(session) {
      const contextId = await contextOfTwo(session)
      const answer = await session.wire.call('list', { contextId, pageSize: 1 })
      expectThat(isObject(answer.result), `Expected a list, got ${describe(answer)}.`)
      const { totalSize } = answer.result
      const isRight = Number.isInteger(totalSize) && Number(totalSize) >= 2
      expectThat(isRight, `totalSize is ${JSON.stringify(totalSize) ?? 'missing'}.`)
    },
  },
  {
    id: 'list/context',
    level: 'MUST',
    versions: current,
    title: 'A list of a context has the tasks of this context.',
    sends: 'a list for the context of a completed task',
    expects: 'this task, and no task of another context',
    async check(session) {
      const { id, contextId } = await taskInContext(session)
      const tasks = await listTasks(session, { contextId })
      expectThat(
        tasks.some((task) => task.id === id),
        `The list does not have the task ${id}.`,
      )
      expectThat(
        tasks.every((task) => task.contextId === contextId),
        'The list has tasks of other contexts.',
      )
    },
  },
  {
    id: 'list/state',
    level: 'MUST',
    versions: current,
    title: 'A list of a state has only tasks in this state.',
    sends: 'a list of completed tasks, in a context where another task waits for input',
    expects: 'completed tasks only',
    async check(session) {
      const { contextId } = await taskInContext(session)
      await session.send({ text: await session.text('inputRequired'), contextId })
      const tasks = await listTasks(session, { contextId, status: 'TASK_STATE_COMPLETED' })
      const isWrong = tasks.some(
        ({ status }) => !isObject(status) || stateOf(status.state, session.wire.target) !== 'completed',
      )
      expectThat(!isWrong, 'The list has tasks in other states.')
    },
  },
  {
    id: 'list/pages',
    level: 'MUST',
    versions: current,
    title: 'A list is read page by page.',
    sends: 'a list with pageSize 1, and a second one with its nextPageToken, in a context of two tasks',
    expects: 'two pages with one task each, and two different tasks',
    async check(session) {
      const contextId = await contextOfTwo(session)
      const first = await session.wire.call('list', { contextId, pageSize: 1 })
      expectThat(isObject(first.result), `Expected a list, got ${describe(first)}.`)
      const { tasks, nextPageToken } = first.result
      expectThat(listOf(tasks).length === 1, `The first page has ${listOf(tasks).length} tasks.`)
      expectThat(typeof nextPageToken === 'string' && nextPageToken !== '', 'The first page has no nextPageToken.')
      const [second, ...more] = await listTasks(session, { contextId, pageSize: 1, pageToken: nextPageToken })
      expectThat(second && more.length === 0, 'The second page does not have exactly one task.')
      expectThat(second.id !== listOf(tasks)[0]?.id, 'Both pages have the same task.')
    },
  },
  {
    id: 'list/order',
    level: 'MUST',
    versions: current,
    title: 'A list starts with the task whose status is the newest.',
    sends: 'a list of a context with two tasks',
    expects: 'timestamps in descending order',
    async check(session) {
      const tasks = await listTasks(session, { contextId: await contextOfTwo(session) })
      const times = tasks.map(({ status }) => Date.parse(`${isObject(status) ? status.timestamp : ''}`))
      measureIf(times.length > 1 && times.every(Number.isFinite), 'The statuses have no timestamps.')
      const isSorted = times.every((time, index) => index === 0 || time <= (times[index - 1] ?? time))
      expectThat(isSorted, `The timestamps are not in descending order: ${times.join(', ')}.`)
    },
  },
  {
    id: 'list/no-artifacts',
    level: 'MUST',
    versions: current,
    title: 'A list has no artifacts unless the caller wants them.',
    sends: 'a list for the context of a completed task',
    expects: 'tasks without the member artifacts',
    async check(session) {
      const { contextId } = await taskInContext(session)
      const tasks = await listTasks(session, { contextId })
      expectThat(!tasks.some((task) => 'artifacts' in task), 'A task in the list has the member artifacts.')
    },
  },
  {
    id: 'list/artifacts',
    level: 'SHOULD',
    versions: current,
    title: 'A list has artifacts if the caller wants them.',
    sends: 'a list with includeArtifacts for the context of a task with artifacts',
    expects: 'the artifacts of the task',
    async check(session) {
      const { id, contextId, wire } = await taskInContext(session)
      measureIf(listOf(wire.artifacts).length > 0, 'The completed task has no artifacts.')
      const tasks = await listTasks(session, { contextId, includeArtifacts: true })
      const listed = tasks.find((task) => task.id === id)
      expectThat(listOf(listed?.artifacts).length > 0, 'The listed task has no artifacts.')
    },
  },
  {
    id: 'list/page-size',
    level: 'SHOULD',
    versions: current,
    title: 'A page size above 100 is refused.',
    sends: 'a list with pageSize 150',
    expects: 'an error for invalid params (-32602, HTTP 400)',
    async check(session) {
      const { wire } = session
      const { contextId } = await taskInContext(session)
      const exchange = await wire.call('list', { contextId, pageSize: 150 })
      expectError({ exchange, name: 'InvalidParams' }, wire.target)
    },
  },
  {
    id: 'list/page-token',
    level: 'SHOULD',
    versions: current,
    title: 'A page token that the server did not make is refused.',
    sends: 'a list with an invented pageToken',
    expects: 'an error for invalid params (-32602, HTTP 400)',
    async check(session) {
      const { wire } = session
      const { contextId } = await taskInContext(session)
      const exchange = await wire.call('list', { contextId, pageToken: 'conformance' })
      expectError({ exchange, name: 'InvalidParams' }, wire.target)
    },
  },
  {
    id: 'cancel/running',
    level: 'MUST',
    versions: ['1.0', '0.3', '0.2'],
    title: 'Cancel returns the updated task.',
    sends: 'a cancel for a task that works',
    expects: 'this task',
    async check(session) {
      const { id } = await session.runningTask()
      const task = requireTask(await session.wire.call('cancel', { id }), session.wire.target)
      expectThat(task.id === id, `Expected the task ${id}, got ${task.id}.`)
      expectThat(task.state !== undefined, 'The task has no state of this version.')
    },
  },
  {
    id: 'cancel/terminal',
    level: 'MUST',
    versions: all,
    title: 'Cancel of a task that has ended is refused.',
    sends: 'a cancel for a completed task',
    expects: 'TaskNotCancelable',
    async check(session) {
      const { id } = await session.completedTask()
      const exchange = await session.wire.call('cancel', { id })
      expectError({ exchange, name: 'TaskNotCancelable' }, session.wire.target)
    },
  },
  {
    id: 'cancel/unknown',
    level: 'MUST',
    versions: all,
    title: 'Cancel of a task that does not exist is refused.',
    sends: 'a cancel with an unknown id',
    expects: 'TaskNotFound',
    async check({ wire }) {
      expectError({ exchange: await wire.call('cancel', { id: unknownId() }), name: 'TaskNotFound' }, wire.target)
    },
  },
]

async function listTasks(session: ConformanceSession, params: Parameters<ConformanceSession['wire']['call']>[1]) {
  const answer = await session.wire.call('list', params)
  expectThat(isObject(answer.result) && isList(answer.result.tasks), `Expected a list, got ${describe(answer)}.`)
  return listOf(answer.result.tasks)
}

/** A context with two completed tasks. */
async function contextOfTwo(session: ConformanceSession): Promise<string> {
  const { contextId } = await taskInContext(session)
  const { isError } = await session.send({ text: await session.text('task'), contextId })
  measureIf(!isError, 'The agent accepts no second message in a context.')
  return contextId
}

async function taskInContext(session: ConformanceSession) {
  const { contextId, ...task } = await session.completedTask()
  measureIf(contextId !== undefined, 'The agent sends no context ids.')
  return { ...task, contextId }
}
