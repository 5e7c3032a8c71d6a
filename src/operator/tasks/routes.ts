import { defined } from '../../core/base/json.ts'
import { taskForms } from '../../core/dialects/versions.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { credentialsExtension } from '../../core/protocol/extensions/in-task-credentials.ts'
import { type Part, type Principal, principalOf } from '../../core/protocol/model.ts'
import { isTask } from '../../core/protocol/states.ts'
import { literal } from '../../core/schema/unions.ts'
import { json, list, object, optional, string } from '../../core/schema/values.ts'
import { type ConsoleAgent, type ConsoleAgents, operatorLogOf } from '../agents.ts'
import type { Answer, CancelResults, Inbox, TaskDetail, TaskKey, Waiting } from '../contract.ts'
import { invalid, jsonAnswer, notFound, OperatorFailure } from '../failures.ts'
import { type OperatorCall, type Route, readBody, readInteger, streamAnswer } from '../routes.ts'
import { readCallTree } from './call-tree.ts'
import { describeTask, readEvent, readEvents, requireTask, watchEvents } from './detail.ts'
import { isOfConformance, listTasks, readListRequest, waitingStates, watchInbox, watchTasks } from './list.ts'
import { type ProcessLines, readLogLines } from './log-lines.ts'
import { partsOfAnswer, waitingOf } from './questions.ts'
import { callAs, rerun } from './rerun.ts'
import { isSeenAsDialect, seeAs } from './seen-as.ts'
import { readTimeline, type TimelineFilter } from './timeline.ts'
import { readTrace } from './trace.ts'

/** Tasks that one request cancels. */
const maxCanceled = 200

export interface TaskRoutesOptions {
  readonly agents: ConsoleAgents
  readonly lines: ProcessLines
}

/** The operations about tasks: read them, follow them, cancel them, answer for their caller. */
export function taskRoutes({ agents, lines }: TaskRoutesOptions): readonly Route[] {
  const viewer = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, role: 'viewer', handle })
  const operator = (path: string, handle: Route['handle']): Route => ({
    method: 'POST',
    path,
    role: 'operator',
    handle,
  })

  async function cancel(key: TaskKey): Promise<CancelResults['results'][number]> {
    const { agent: id, taskId } = key
    try {
      const agent = agents.get(id)
      const task = await requireTask(agent, taskId)
      const caller = callAs(principalOf(task.owner))
      const canceled = await agent.agent.uncheckedService.cancelTask({ taskId }, caller)
      return { agent: id, taskId, phase: canceled.status.state }
    } catch (error) {
      if (error instanceof OperatorFailure || error instanceof A2AError)
        return { agent: id, taskId, error: error.message }
      throw error
    }
  }

  return [
    viewer('/tasks', async ({ query }) => jsonAnswer(await listTasks(readListRequest(query, agents)))),
    viewer('/tasks/changes', async (call) => {
      const { signal, header } = call.incoming
      const changes = watchTasks(readListRequest(call.query, agents), { signal, last: header('last-event-id') })
      return streamAnswer(call, changes)
    }),
    operator('/tasks/cancel', async (call) => {
      const { tasks } = await readBody(call, cancelSchema)
      return jsonAnswer({ results: await Promise.all(tasks.map(cancel)) })
    }),
    viewer('/inbox/changes', async (call) => {
      const query = new URLSearchParams({ state: waitingStates })
      return streamAnswer(call, watchInbox(readListRequest(query, agents), call.incoming.signal))
    }),
    viewer('/inbox', async ({ query }) => jsonAnswer(await readInbox(query, agents))),
    viewer('/tasks/:agent/:task', async (_call, id: string, taskId: string) =>
      jsonAnswer(await describeTask(agents.get(id), taskId)),
    ),
    viewer('/tasks/:agent/:task/events', async ({ query }, id: string, taskId: string) => {
      const number = { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 }
      const [after, before] = [readInteger(query, 'after', number), readInteger(query, 'before', number)]
      const limit = readInteger(query, 'limit', { min: 1, max: 1_000, fallback: 200 })
      const filter = readTimelineFilter(query)
      const isNewestFirst = readWord(query, 'order', 'newest')
      if (!filter && !isNewestFirst) {
        const range = { after, before: before === 0 ? undefined : before, limit }
        return jsonAnswer(await readEvents(agents.get(id), taskId, range))
      }
      const from = isNewestFirst ? before || Number.MAX_SAFE_INTEGER : after
      const all = { types: undefined, text: undefined, isGrouped: false }
      return jsonAnswer(await readTimeline(agents.get(id), taskId, filter ?? all, { from, limit, isNewestFirst }))
    }),
    viewer('/tasks/:agent/:task/events/changes', async (call, id: string, taskId: string) => {
      const agent = agents.get(id)
      await requireTask(agent, taskId)
      const after = readInteger(call.query, 'after', { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 })
      return streamAnswer(call, watchEvents(agent, taskId, after, call.incoming.signal))
    }),
    viewer('/tasks/:agent/:task/events/:generation', async (_call, id: string, taskId: string, text: string) => {
      if (!/^[1-9]\d{0,14}$/.test(text)) throw invalid('generation', 'expected the number of an event')
      return jsonAnswer(await readEvent(agents.get(id), taskId, Number(text)))
    }),
    viewer('/tasks/:agent/:task/as/:dialect', async (_call, id: string, taskId: string, dialect: string) => {
      if (!isSeenAsDialect(dialect)) throw notFound(`The dialects are ${taskForms.map(({ id }) => id).join(', ')}.`)
      const { task, phase } = await describeTask(agents.get(id), taskId)
      if (phase !== 'expired' && !isTask(phase)) {
        throw new OperatorFailure(409, 'not-a-task', 'The agent answered with a message: its caller sees no task.')
      }
      return jsonAnswer(seeAs(task, dialect))
    }),
    viewer('/tasks/:agent/:task/calls', async (_call, id: string, taskId: string) => {
      const agent = agents.get(id)
      await requireTask(agent, taskId)
      return jsonAnswer(await readCallTree(agents, agent, taskId))
    }),
    viewer('/tasks/:agent/:task/trace', async (_call, id: string, taskId: string) =>
      jsonAnswer(await readTrace(agents, agents.get(id), taskId)),
    ),
    viewer('/tasks/:agent/:task/log', async (_call, id: string, taskId: string) => {
      const agent = agents.get(id)
      await requireTask(agent, taskId)
      return jsonAnswer({ lines: await readLogLines(agent, taskId, lines) })
    }),
    operator('/tasks/:agent/:task/rerun', async (call, id: string, taskId: string) =>
      jsonAnswer(await rerun(agents.get(id), taskId, call, await readBody(call, rerunSchema))),
    ),
    operator('/tasks/:agent/:task/answer', async (call, id: string, taskId: string) =>
      jsonAnswer(await answer(agents.get(id), taskId, call)),
    ),
  ]
}

/** The operator answers in the place of the caller: the agent sees the caller, and who answered in the metadata. */
async function answer(agent: ConsoleAgent, taskId: string, call: OperatorCall): Promise<TaskDetail> {
  const body = (await readBody(call, answerSchema)) as Answer
  const task = await requireTask(agent, taskId)
  if (body.credentials && task.phase !== 'auth-required') {
    throw new OperatorFailure(409, 'unsupported-operation', 'The task does not wait for credentials.')
  }
  const [first] = await operatorLogOf(agent).events(taskId, 0, 1)
  const caller: Principal = first?.event.type === 'message' ? first.event.principal : principalOf(task.owner)
  // The credentials were valid when the caller sent them.
  const { expires: _, ...principal } = caller
  const message = defined({
    messageId: crypto.randomUUID(),
    role: 'user' as const,
    taskId,
    contextId: task.contextId,
    parts: partsOfAnswer(body),
    extensions: body.credentials && [credentialsExtension],
    metadata: call.session.isOpen ? undefined : { operator: call.session.principal.id },
  })
  await agent.agent.uncheckedService.sendMessage(
    { message, configuration: { returnImmediately: true } },
    callAs(principal),
  )
  return await describeTask(agent, taskId)
}

const eventTypes: readonly TaskEvent['type'][] = ['message', 'cancel', 'reply', 'status', 'artifact', 'journal']

/** The filters of a timeline. Undefined if all events are wanted as they are. */
function readTimelineFilter(query: URLSearchParams): TimelineFilter | undefined {
  const [text = '', types = ''] = [query.get('text') ?? undefined, query.get('type') ?? undefined]
  if (text.length > 500) throw invalid('text', 'expected at most 500 characters')
  const names = types.split(',').filter((name) => name !== '')
  const unknown = names.find((name) => !eventTypes.some((type) => type === name))
  if (unknown !== undefined) throw invalid('type', `expected some of ${eventTypes.join(', ')}`)
  const isGrouped = readWord(query, 'group', 'chunks')
  if (text === '' && names.length === 0 && !isGrouped) return undefined
  return { types: names.length > 0 ? new Set(names) : undefined, text: text === '' ? undefined : text, isGrouped }
}

/** Whether a parameter has its only word. */
function readWord(query: URLSearchParams, name: string, word: string): boolean {
  const value = query.get(name) ?? ''
  if (value !== '' && value !== word) throw invalid(name, `expected ${word}`)
  return value === word
}

const waitingKinds: readonly Waiting['kind'][] = ['input', 'approval', 'tool', 'credentials']

async function readInbox(query: URLSearchParams, agents: ConsoleAgents): Promise<Inbox> {
  const waiting = new URLSearchParams(query)
  const kind = query.get('kind') ?? ''
  if (kind !== '' && !waitingKinds.some((name) => name === kind)) {
    throw invalid('kind', `expected one of ${waitingKinds.join(', ')}`)
  }
  waiting.set('state', kind === '' ? waitingStates : kind === 'credentials' ? 'auth-required' : 'input-required')
  const request = readListRequest(waiting, agents)
  const { tasks, next } = await listTasks(request)
  const items = await Promise.all(
    tasks.map(async (row) => {
      const log = operatorLogOf(agents.get(row.agent))
      const [task, last] = await Promise.all([
        log.task(row.taskId),
        log.events(row.taskId, Math.max(0, row.events - 20), 20),
      ])
      const found =
        task &&
        waitingOf(
          task,
          last.map(({ event }) => event),
        )
      const isShown = found && (kind === '' || found.kind === kind) && !last.some(isOfConformance)
      return isShown ? [{ ...row, waiting: found }] : []
    }),
  )
  return defined({ items: items.flat(), next })
}

const text = (max: number) => string({ max })

const cancelSchema = object({
  tasks: list(object({ agent: text(200), taskId: text(500) }), { max: maxCanceled }),
})

const partSchema = {
  node: { is: 'json' },
  read(value: unknown): Part {
    const part = json().read(value)
    const kinds = ['text', 'url', 'raw', 'data']
    const found = typeof part === 'object' && part !== null ? kinds.filter((kind) => kind in part) : []
    if (found.length !== 1) throw invalid('parts', 'expected each part to have one of text, url, raw or data')
    const isTyped = found[0] === 'data' || typeof (part as Record<string, unknown>)[found[0] ?? ''] === 'string'
    if (!isTyped) throw invalid('parts', `expected ${found[0]} to be a string`)
    return part as unknown as Part
  },
} as const

const rerunSchema = object({ parts: optional(list(partSchema, { max: 100 })) })

const answerSchema = object({
  requestId: optional(text(500)),
  parts: optional(list(partSchema, { max: 100 })),
  value: optional(json()),
  decision: optional(literal('approve', 'decline')),
  credentials: optional(object({ scheme: optional(text(200)), secret: string({ min: 1, max: 16 * 1024 }) })),
  comment: optional(text(10_000)),
})
