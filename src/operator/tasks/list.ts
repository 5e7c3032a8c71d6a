import { fromBase64Url, toBase64Url } from '../../core/base/base64.ts'
import { defined, isObject } from '../../core/base/json.ts'
import { conformanceMark } from '../../core/protocol/conformance-mark.ts'
import { principalOf, textOf } from '../../core/protocol/model.ts'
import type { Phase } from '../../core/protocol/states.ts'
import type { ListCursor } from '../../core/tasks/log.ts'
import {
  contentPhases,
  maxCounted,
  type OperatorQuery,
  type OperatorTask,
  type TimedEvent,
} from '../../core/tasks/operator-log.ts'
import { type ConsoleAgent, type ConsoleAgents, operatorLogOf } from '../agents.ts'
import type { InboxChange, TaskChange, TaskRow, TaskRows } from '../contract.ts'
import { invalid } from '../failures.ts'
import { readInteger } from '../routes.ts'
import { firstLine, requestOf } from './requests.ts'

const maxFilter = 500

/** Milliseconds between two looks for changes, while an operator watches. */
const watchInterval = 1_000

/** A search of many tasks takes long: looks for changes take at most this share of the time. */
const watchShare = 0.05

/** Milliseconds before a stream opens whose changes it repeats: the list was read before, and clocks differ. */
const overlap = 15_000

/** Rows that are watched for changes. */
const watchedRows = 200

const phaseNames: readonly string[] = [...contentPhases, 'expired']

export interface ListRequest {
  readonly agents: readonly ConsoleAgent[]
  readonly filters: Omit<OperatorQuery, 'cursor' | 'limit'>
  readonly limit: number
  readonly cursor: PageCursor
}

/** The position in the list of each agent. `null`: all its tasks were read. */
type PageCursor = Readonly<Record<string, ListCursor | null>>

/** Reads the query of a list: which tasks of which agents, from where on. */
export function readListRequest(query: URLSearchParams, agents: ConsoleAgents): ListRequest {
  const text = (name: string) => {
    const value = query.get(name) ?? ''
    if (value.length > maxFilter) throw invalid(name, `expected at most ${maxFilter} characters`)
    return value === '' ? undefined : value
  }
  const [agent, principal, skill] = [text('agent'), text('principal'), text('skill')]
  const [contextId, search, tenant] = [text('contextId'), text('search'), text('tenant')]
  const time = (name: string) => readInteger(query, name, { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 })
  const [since, until] = [time('since'), time('until')]
  const states = (text('state') ?? '').split(',').filter((state) => state !== '')
  const unknown = states.find((state) => state !== 'stuck' && !phaseNames.includes(state))
  if (unknown !== undefined) throw invalid('state', `expected some of ${['stuck', ...phaseNames].join(', ')}`)
  const phases = states.filter((state) => state !== 'stuck') as (Phase | 'expired')[]
  return {
    agents: agent === undefined ? agents.all().filter((each) => each.agent.log.operator) : [agents.get(agent)],
    filters: defined({
      phases: phases.length > 0 ? phases : undefined,
      isStuck: states.includes('stuck') ? true : undefined,
      principal,
      tenant,
      skill,
      contextId,
      search,
      changedSince: since > 0 ? since : undefined,
      changedBefore: until > 0 ? until : undefined,
    }),
    limit: readInteger(query, 'limit', { min: 1, max: 200, fallback: 50 }),
    cursor: decodeCursor(query.get('cursor')),
  }
}

/** One page over all agents, newest change first. */
export async function listTasks({ agents, filters, limit, cursor }: ListRequest): Promise<TaskRows> {
  const pages = await Promise.all(
    agents.map(async (agent) => {
      const from = cursor[agent.id]
      if (from === null) return { agent, tasks: [], total: 0, next: undefined, incomplete: undefined }
      const page = await operatorLogOf(agent).tasks({ ...filters, limit, ...defined({ cursor: from }) })
      return { agent, ...page }
    }),
  )
  const merged = pages
    .flatMap(({ agent, tasks }) => tasks.map((task) => ({ agent, task })))
    .sort((one, other) => other.task.changed - one.task.changed)
    .slice(0, limit)
  const next: Record<string, ListCursor | null> = {}
  for (const { agent, tasks, next: more } of pages) {
    const shown = merged.filter((each) => each.agent === agent)
    const last = shown.at(-1)?.task
    const isDone = shown.length === tasks.length && more === undefined
    if (isDone) next[agent.id] = null
    else if (last) next[agent.id] = { changed: last.changed, key: last.key }
    else if (cursor[agent.id]) next[agent.id] = cursor[agent.id] ?? null
  }
  const isLast = pages.every(({ agent }) => next[agent.id] === null)
  const total = pages.reduce((sum, page) => sum + page.total, 0)
  const incomplete = pages.flatMap(({ agent, incomplete: reason }) => (reason ? [{ agent: agent.id, reason }] : []))
  return defined({
    tasks: await Promise.all(merged.map(({ agent, task }) => rowOf(agent, task))),
    next: isLast ? undefined : encodeCursor(next),
    total: Math.min(total, maxCounted),
    incomplete: incomplete.length > 0 ? incomplete : undefined,
  })
}

export async function rowOf(agent: ConsoleAgent, task: OperatorTask): Promise<TaskRow> {
  const { taskId, contextId, phase, owner, skill, dialect, created, changed, generation, status, lease } = task
  return defined({
    agent: agent.id,
    taskId,
    contextId,
    phase,
    principal: principalOf(owner),
    skill,
    dialect,
    created,
    changed,
    events: generation,
    request: await requestOf(operatorLogOf(agent), task),
    summary: status?.message && firstLine(textOf(status.message)),
    lease,
  })
}

/**
 * Yields the rows of a list that change, from the stores: also changes by other replicas. It looks for them while the
 * stream is read, and reports `reset` when tasks were removed. Begins with the changes since the last event that the
 * reader has, or of the last seconds, so that none is lost between reading the list and opening the stream.
 */
export async function* watchTasks(
  request: ListRequest,
  { signal, last }: { readonly signal: AbortSignal; readonly last: string | undefined },
): AsyncGenerator<{ id: number; value: TaskChange }> {
  const first = { ...request, cursor: {}, limit: watchedRows }
  let id = Date.now()
  const seen = /^\d{1,15}$/.test(last ?? '') ? Math.min(Number(last), id) : id
  let known = await readVersions(first)
  let took = Date.now() - id
  for (const { row } of known.rows.values()) {
    if (row.changed >= seen - overlap) yield { id, value: { type: 'task', task: row } }
  }
  while (!signal.aborted) {
    await pause(Math.max(watchInterval, took / watchShare), signal)
    if (signal.aborted) return
    id = Date.now()
    const current = await readVersions(first)
    took = Date.now() - id
    for (const [key, { row, version }] of current.rows) {
      if (known.rows.get(key)?.version !== version) yield { id, value: { type: 'task', task: row } }
    }
    // Only a page that is not full shows that a task is gone; others may have been pushed out of it.
    const isGone = [...known.rows.keys()].some((key) => !current.rows.has(key))
    if (isGone && !current.isFull) yield { id, value: { type: 'reset' } }
    known = current
  }
}

/** The states of tasks that wait for a person. */
export const waitingStates = 'input-required,auth-required'

/** Milliseconds between two looks for tasks that wait: every open page of the console has such a stream. */
const inboxInterval = 2_000

/** Yields how many tasks wait for a person, and which ones are new, whenever that changes. */
export async function* watchInbox(
  request: ListRequest,
  signal: AbortSignal,
): AsyncGenerator<{ readonly value: InboxChange }> {
  const first = { ...request, cursor: {}, limit: watchedRows }
  let known: ReadonlyMap<string, TaskRow> | undefined
  const ofConformance = new Map<string, boolean>()
  async function isOfSuite({ agent: id, taskId }: TaskRow): Promise<boolean> {
    const agent = request.agents.find((each) => each.id === id)
    const isOne = ofConformance.get(taskId) ?? (agent !== undefined && (await isBegunBySuite(agent, taskId)))
    ofConformance.set(taskId, isOne)
    return isOne
  }
  while (!signal.aborted) {
    const begun = Date.now()
    const waiting = (await listTasks(first)).tasks
    const isHidden = await Promise.all(waiting.map(isOfSuite))
    const tasks = waiting.filter((_, index) => !isHidden[index])
    for (const taskId of ofConformance.keys()) {
      if (!waiting.some((row) => row.taskId === taskId)) ofConformance.delete(taskId)
    }
    const took = Date.now() - begun
    // A task that asks again has another time.
    const current = new Map(tasks.map((row) => [`${row.agent} ${row.taskId} ${row.changed}`, row]))
    const isSame = known?.size === current.size && [...current.keys()].every((key) => known?.has(key))
    if (!isSame) {
      const added = known ? [...current].flatMap(([key, row]) => (known?.has(key) ? [] : [row])) : []
      yield { value: { count: current.size, added } }
    }
    known = current
    await pause(Math.max(inboxInterval, took / watchShare), signal)
  }
}

async function isBegunBySuite(agent: ConsoleAgent, taskId: string): Promise<boolean> {
  const [first] = await operatorLogOf(agent).events(taskId, 0, 1)
  return first !== undefined && isOfConformance(first)
}

/** A task of the conformance suite waits for nobody: the suite cancels it when it ends. */
export function isOfConformance({ event }: TimedEvent): boolean {
  return event.type === 'message' && event.message.messageId.startsWith(conformanceMark)
}

async function readVersions(request: ListRequest) {
  const { tasks } = await listTasks(request)
  const rows = new Map(
    tasks.map((row) => {
      const { agent, taskId, phase, changed, events, lease } = row
      return [`${agent} ${taskId}`, { row, version: `${phase} ${changed} ${events} ${lease?.holder ?? ''}` }]
    }),
  )
  return { rows, isFull: tasks.length >= watchedRows }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, milliseconds)
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}

function encodeCursor(cursor: PageCursor): string {
  const compact = Object.entries(cursor).map(([id, at]) => [id, at && [at.changed, at.key]])
  return toBase64Url(new TextEncoder().encode(JSON.stringify(Object.fromEntries(compact))))
}

/** A cursor comes from a page, but a caller may send anything. */
function decodeCursor(text: string | null): PageCursor {
  if (text === null || text === '') return {}
  const failure = invalid('cursor', 'expected the `next` of a page')
  const bytes = text.length > 10_000 ? undefined : fromBase64Url(text)
  if (!bytes) throw failure
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw failure
  }
  if (!isObject(value)) throw failure
  return Object.fromEntries(
    Object.entries(value).map(([id, at]): [string, ListCursor | null] => {
      if (at === null) return [id, null]
      const [changed, key] = Array.isArray(at) ? (at as readonly unknown[]) : []
      if (!Number.isSafeInteger(changed) || !Number.isSafeInteger(key)) throw failure
      return [id, { changed: changed as number, key: key as number }]
    }),
  )
}
