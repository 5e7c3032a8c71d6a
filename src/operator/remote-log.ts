import { BoundedMap } from '../core/base/bounded-map.ts'
import { defined } from '../core/base/json.ts'
import { createMemoryOperatorState } from '../core/base/operator-state.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { StreamEvent, TaskEvent } from '../core/protocol/events.ts'
import { type Interceptor, intercept } from '../core/protocol/intercept.ts'
import { anonymous, parseTimestamp, type Task, type TaskState, textOf } from '../core/protocol/model.ts'
import type { Call, ListTasksRequest, Service } from '../core/protocol/service.ts'
import type { OperatorLog, OperatorPage, OperatorQuery, OperatorTask } from '../core/tasks/operator-log.ts'

/** Milliseconds for which a page or a task is shown without asking again: several parts of the console look at the same. */
const maxPageAge = 5_000
const maxTaskAge = 1_000

/** Milliseconds between two looks at a task of another agent. */
const pollInterval = 2_000

/** Tasks of a page of another agent. */
const pageSize = 100

/** Pages that one list reads, if the agent cannot filter as the console does. */
const maxPages = 5

/** Tasks that the console began at an agent that cannot list tasks. */
const maxOwnTasks = 50

export interface RemoteTasks {
  /** The service of the agent: the tasks that it returns are listed, if the agent itself cannot list them. */
  readonly service: Service
  readonly log: OperatorLog
  readonly wait: (taskId: string, after: number, signal: AbortSignal) => Promise<void>
}

/**
 * The tasks of another agent, as its caller sees them. What its server does not tell is left out: who works on a task, when
 * it began, and in which order its events happened.
 */
export function createRemoteTasks(remote: Service): RemoteTasks {
  const ownTasks = new Set<string>()
  const pages = createCache<RemotePage>(maxPageAge)
  const tasks = createCache<Task | undefined>(maxTaskAge)
  /** Where each listed task is, by its key: cursors name the last task of a page. */
  const positions = new BoundedMap<number, Position>(10_000)
  const keys = new BoundedMap<string, number>(10_000)
  let lastKey = 0
  const call = (): Call => ({ principal: anonymous, signal: AbortSignal.timeout(30_000) })

  /** What the console does may change every list. */
  function forget(): void {
    pages.clear()
    tasks.clear()
  }

  function note(taskId: string): void {
    ownTasks.delete(taskId)
    ownTasks.add(taskId)
    const [oldest] = ownTasks
    if (ownTasks.size > maxOwnTasks && oldest !== undefined) ownTasks.delete(oldest)
  }

  const noting: Interceptor = {
    async sendMessage(request, context, next) {
      try {
        const outcome = await next(request, context)
        if (outcome.type === 'task') note(outcome.task.id)
        return outcome
      } finally {
        forget()
      }
    },
    async *streamMessage(request, context, next) {
      try {
        for await (const event of next(request, context)) {
          const taskId = taskIn(event)
          if (taskId !== undefined && !ownTasks.has(taskId)) note(taskId)
          yield event
        }
      } finally {
        forget()
      }
    },
    async cancelTask(request, context, next) {
      try {
        return await next(request, context)
      } finally {
        forget()
      }
    },
  }
  const service = intercept(remote, [noting])

  function keyOf(taskId: string): number {
    const key = keys.get(taskId) ?? ++lastKey
    keys.set(taskId, key)
    return key
  }

  async function readPage(request: ListTasksRequest): Promise<RemotePage> {
    try {
      const { tasks, nextPageToken, totalSize } = await remote.listTasks(request, call())
      return {
        tasks,
        next: nextPageToken,
        total: totalSize >= tasks.length && tasks.length > 0 ? totalSize : undefined,
      }
    } catch (error) {
      const isMissing = error instanceof A2AError && cannotList.has(error.code)
      if (!isMissing) throw error
      return { tasks: await readOwn(), next: '', total: undefined, reason: noList }
    }
  }

  /** Agents before 1.0 cannot list tasks. Those that the console began are read one by one. */
  async function readOwn(): Promise<readonly Task[]> {
    const found = await Promise.all([...ownTasks].map((taskId) => find(taskId).catch(() => undefined)))
    return found.filter((task) => task !== undefined).sort((one, other) => changedOf(other) - changedOf(one))
  }

  const find = (taskId: string) => tasks.get(taskId, () => readTask(taskId))

  async function readTask(taskId: string): Promise<Task | undefined> {
    try {
      return await remote.getTask({ taskId }, call())
    } catch (error) {
      if (error instanceof A2AError && error.code === 'task-not-found') return undefined
      throw error
    }
  }

  async function list(query: OperatorQuery): Promise<OperatorPage> {
    const { phases, contextId, changedSince, cursor, limit } = query
    // Leases and owners are known to the server of the agent alone.
    if (query.isStuck || (query.principal !== undefined && query.principal !== caller)) return { tasks: [], total: 0 }
    const states = phases ?? []
    const request: ListTasksRequest = defined({
      pageSize,
      contextId,
      state: states.length === 1 && states[0] !== 'expired' ? (states[0] as TaskState) : undefined,
      statusSince: changedSince === undefined ? undefined : new Date(changedSince).toISOString(),
    })
    const isFilteredHere = states.length > 1 || query.search !== undefined || query.skill !== undefined
    const from = cursor && positions.get(cursor.key)
    const found: OperatorTask[] = []
    let [token, skip] = [from?.token ?? '', (from?.index ?? -1) + 1]
    let page: RemotePage | undefined
    for (let read = 0; read < maxPages && found.length < limit; read++) {
      const paged = defined({ ...request, pageToken: token === '' ? undefined : token })
      page = await pages.get(JSON.stringify(paged), () => readPage(paged))
      for (const [index, task] of page.tasks.entries()) {
        if (index < skip) continue
        const head = headOf(task, keyOf(task.id))
        positions.set(head.key, { token, index })
        if (matches(head, query)) found.push(head)
        if (found.length === limit) break
      }
      if (page.next === '' || page.next === token) break
      if (found.length < limit) [token, skip] = [page.next, 0]
    }
    const last = found.at(-1)
    const lastIndex = last ? (positions.get(last.key)?.index ?? 0) : 0
    const hasMore = page !== undefined && (page.next !== '' || lastIndex + 1 < page.tasks.length) && found.length > 0
    const total = isFilteredHere ? undefined : page?.total
    return defined({
      tasks: found,
      total: total ?? found.length,
      next: hasMore && last ? { changed: last.changed, key: last.key } : undefined,
      incomplete: page?.reason ?? (total === undefined && hasMore ? unknownTotal(found.length) : undefined),
    })
  }

  return {
    service,
    wait: (_taskId, _after, signal) => pause(signal),
    log: {
      kind: 'another server',
      tasks: list,
      async task(taskId) {
        const task = await find(taskId)
        return task && headOf(task, keyOf(task.id))
      },
      async events(taskId, after, limit) {
        const task = await find(taskId)
        const events = task ? eventsOf(task) : []
        return events.map((event, index) => ({ generation: index + 1, event })).slice(after, after + limit)
      },
      // The server of the agent counts its tasks, and does not tell.
      counts: async () => ({ phases: {}, stuck: 0, leases: 0 }),
      activity: async () => [],
      minutes: async () => [],
      keepMinutes: async () => {},
      ...createMemoryOperatorState(),
    },
  }
}

/** At most 50 answers that were just read. */
function createCache<T>(maxAge: number) {
  const cached = new Map<string, { readonly at: number; readonly value: Promise<T> }>()
  return {
    clear: () => cached.clear(),
    get(name: string, read: () => Promise<T>): Promise<T> {
      const entry = cached.get(name)
      if (entry && Date.now() - entry.at < maxAge) return entry.value
      const value = read()
      cached.delete(name)
      cached.set(name, { at: Date.now(), value })
      const [oldest] = cached.keys()
      if (cached.size > 50 && oldest !== undefined) cached.delete(oldest)
      value.catch(() => cached.delete(name))
      return value
    },
  }
}

interface RemotePage {
  readonly tasks: readonly Task[]
  /** The token of the next page; empty on the last one. */
  readonly next: string
  /** Undefined if the agent does not say it. */
  readonly total: number | undefined
  /** Why tasks are missing. */
  readonly reason?: string
}

interface Position {
  /** The token of its page. */
  readonly token: string
  readonly index: number
}

/** The caller of all tasks that another agent shows. */
const caller = 'you'

const cannotList: ReadonlySet<string> = new Set(['method-not-found', 'unsupported-operation', 'version-not-supported'])

const noList = 'cannot list its tasks: only those that this console began are shown.'

function unknownTotal(count: number): string {
  return `does not say how many tasks it has: these are the first ${count} of an unknown number.`
}

function matches({ phase, contextId, taskId, request = '', changed }: OperatorTask, query: OperatorQuery): boolean {
  const { phases, search, skill, tenant, changedSince = 0, changedBefore = Number.POSITIVE_INFINITY } = query
  if (phases && !phases.includes(phase)) return false
  if (query.contextId !== undefined && contextId !== query.contextId) return false
  if ((skill ?? tenant) !== undefined || changed < changedSince || changed >= changedBefore) return false
  return search === undefined || `${taskId} ${contextId} ${request}`.toLowerCase().includes(search.toLowerCase())
}

function changedOf({ status }: Task): number {
  return status.timestamp === undefined ? 0 : parseTimestamp(status.timestamp)
}

function headOf(task: Task, key: number): OperatorTask {
  const { id: taskId, contextId, status, history } = task
  return {
    taskId,
    contextId,
    owner: caller,
    generation: eventsOf(task).length,
    phase: status.state,
    status,
    // Not known.
    created: 0,
    changed: changedOf(task),
    key,
    request: history[0] ? textOf(history[0]) : '',
  }
}

function taskIn(event: StreamEvent): string | undefined {
  if (event.type === 'task') return event.task.id
  return event.type === 'message' ? undefined : event.taskId
}

/** Events that lead to the task. The other agent does not say in which order they happened. */
function eventsOf({ history, artifacts, status }: Task): readonly TaskEvent[] {
  return [
    ...history.map((message): TaskEvent => ({ type: 'message', message, principal: anonymous })),
    ...artifacts.map((artifact): TaskEvent => ({ type: 'artifact', artifact })),
    { type: 'status', status },
  ]
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, pollInterval)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
