import { sha256, toHex } from '../base/hash.ts'
import { defined, type JsonObject } from '../base/json.ts'
import { A2AError, invalidParams, taskNotFound } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { intercept } from '../protocol/intercept.ts'
import { type Message, ownerOf, type Task } from '../protocol/model.ts'
import {
  type Call,
  type ListTasksRequest,
  type Outcome,
  type SendRequest,
  type Service,
  type TaskAddress,
  type TaskPage,
  withCall,
} from '../protocol/service.ts'

/** Tasks that one ListTasks reads from the agent at the same time. */
const concurrentReads = 8

const defaultPage = 50
const maxPage = 100

/**
 * What a record is about. An alias is the id that a 0.1 caller chose for its task; an address is where a task lives, of an
 * agent that has several.
 */
export type OwnershipKind = 'task' | 'context' | 'alias' | 'webhook' | 'address'

export interface OwnershipKey {
  /** The agent, by a name that is unique within the store. */
  readonly agent: string
  readonly kind: OwnershipKind
  /** The id by which callers know the task, context or webhook. */
  readonly id: string
}

/** Whose a task or context is, and its id at the agent. Never changed once it is stored. */
export interface OwnershipRecord extends OwnershipKey {
  /** As `ownerOf` returns it. */
  readonly owner: string
  /** The id at the agent. The same as `id` where ids are not mapped. */
  readonly remoteId: string
  /** The context of a task. */
  readonly contextId?: string
  /** What else is known of a webhook. */
  readonly data?: JsonObject
}

export interface OwnershipQuery extends Pick<OwnershipKey, 'agent' | 'kind'> {
  readonly owner: string
  readonly contextId?: string
  /** The `next` of the previous page. */
  readonly cursor?: number
  readonly limit: number
}

export interface OwnershipPage {
  /** The newest first. */
  readonly records: readonly OwnershipRecord[]
  readonly total: number
  /** Undefined on the last page. */
  readonly next?: number
}

/** Stores who owns what. Records are durable when the promise resolves. */
export interface OwnershipStore {
  /** Stores a record unless there is one with its key. Returns the stored one: of two concurrent claims, the first wins. */
  claim(record: OwnershipRecord): Promise<OwnershipRecord>
  find(key: OwnershipKey): Promise<OwnershipRecord | undefined>
  /** Finds a record by the id at the agent. */
  findRemote(
    key: Pick<OwnershipKey, 'agent' | 'kind'> & { readonly remoteId: string },
  ): Promise<OwnershipRecord | undefined>
  list(query: OwnershipQuery): Promise<OwnershipPage>
  remove(key: OwnershipKey): Promise<boolean>
  /** Removes records that were stored before that time, in milliseconds since 1970. Returns how many. */
  expire(before: number, limit: number): Promise<number>
  close(): Promise<void>
}

export interface MemoryOwnershipOptions {
  /** Records to keep. Beyond that, the oldest are removed. Defaults to 20,000. */
  readonly capacity?: number
  readonly now?: () => number
}

/** Keeps ownership records in this process. */
export function createMemoryOwnership({
  capacity = 20_000,
  now = Date.now,
}: MemoryOwnershipOptions = {}): OwnershipStore {
  const records = new Map<string, StoredRecord>()
  const byRemoteId = new Map<string, StoredRecord>()
  let last = 0

  function drop(stored: StoredRecord): void {
    const { record } = stored
    records.delete(keyOf(record))
    const remote = remoteKeyOf(record)
    if (byRemoteId.get(remote) === stored) byRemoteId.delete(remote)
  }

  return {
    async claim(record) {
      const key = keyOf(record)
      const existing = records.get(key)
      if (existing) return existing.record
      const stored = { record, number: ++last, created: now() }
      records.set(key, stored)
      byRemoteId.set(remoteKeyOf(record), stored)
      const [oldest] = records.values()
      if (records.size > capacity && oldest) drop(oldest)
      return record
    },
    find: async (key) => records.get(keyOf(key))?.record,
    findRemote: async (key) => byRemoteId.get(remoteKeyOf(key))?.record,
    async list({ agent, kind, owner, contextId, cursor = Number.POSITIVE_INFINITY, limit }) {
      const matches = [...records.values()].reverse().filter(({ record }) => {
        const isOwn = record.agent === agent && record.kind === kind && record.owner === owner
        return isOwn && (contextId === undefined || record.contextId === contextId)
      })
      const rest = matches.filter(({ number }) => number < cursor)
      const page = rest.slice(0, limit)
      const next = rest.length > limit ? page.at(-1)?.number : undefined
      return defined({ records: page.map(({ record }) => record), total: matches.length, next })
    },
    async remove(key) {
      const stored = records.get(keyOf(key))
      if (stored) drop(stored)
      return stored !== undefined
    },
    async expire(before, limit) {
      const expired = [...records.values()].filter(({ created }) => created < before).slice(0, limit)
      for (const stored of expired) drop(stored)
      return expired.length
    },
    async close() {},
  }
}

export interface IsolateOwnersOptions {
  /** Where ownership is stored. Defaults to memory: tasks from before a restart are invisible then. */
  readonly store?: OwnershipStore
  /** Names the agent in the store. */
  readonly agent?: string
  /** Whether the agent itself distinguishes the callers, so that its list of tasks is that of the caller. */
  readonly listsByCaller?: boolean
}

/**
 * Isolates the callers of a service that sees them as one, as a remote agent does: each caller sees only tasks and
 * contexts that it started. A record is stored before the answer that reveals its id leaves, and a context that a caller
 * invents before its message is forwarded: the first claim wins.
 */
export function isolateOwners(service: Service, options: IsolateOwnersOptions = {}): Service {
  const { store = createMemoryOwnership(), agent = '', listsByCaller = false } = options

  const find = (kind: OwnershipKind, id: string) => store.find({ agent, kind, id })

  /** Returns whether the caller owns it now. */
  async function claim(record: Pick<OwnershipRecord, 'kind' | 'id'> & Partial<OwnershipRecord>, owner: string) {
    const stored = await store.claim({ agent, owner, remoteId: record.id, ...record })
    return stored.owner === owner
  }

  /** The id of the caller's task at the agent. */
  async function ownTaskId({ taskId, isAlias }: TaskAddress, owner: string): Promise<string> {
    const alias = isAlias ? await find('alias', aliasKey(owner, taskId)) : undefined
    if (alias) return alias.remoteId
    const record = await find('task', taskId)
    if (record?.owner !== owner) throw taskNotFound(taskId)
    return record.remoteId
  }

  async function withOwnReferences(request: SendRequest, owner: string): Promise<SendRequest> {
    const { quirks: { alias, ...quirks } = {}, ...rest } = request
    const known = alias === undefined ? undefined : await find('alias', aliasKey(owner, alias))
    const message = known ? { ...request.message, taskId: known.remoteId } : request.message
    const { taskId, contextId, referenceTaskIds = [] } = message
    const ids = taskId === undefined || known ? referenceTaskIds : [taskId, ...referenceTaskIds]
    await Promise.all(ids.map((id) => ownTaskId({ taskId: id }, owner)))
    if (contextId !== undefined && !(await claim({ kind: 'context', id: contextId }, owner))) {
      const text = `There is no context ${contextId}, or it is not yours: omit it, and the agent creates one.`
      throw new A2AError('context-not-found', text)
    }
    return { ...rest, message, ...defined({ quirks: request.quirks && quirks }) }
  }

  /** Stores that the caller owns what an answer reveals. */
  function createRecorder({ quirks: { alias } = {} }: SendRequest, owner: string) {
    const seen = new Set<string>()

    async function recordTask({ id, contextId }: Pick<Task, 'id' | 'contextId'>): Promise<void> {
      if (seen.has(id)) return
      // An agent that recognizes a repeated message returns the task that it started, whichever caller sent it.
      if (!(await claim({ kind: 'task', id, contextId }, owner))) {
        throw new A2AError('conflict', 'A message with this messageId was sent before: use a new one.')
      }
      if (alias !== undefined) await claim({ kind: 'alias', id: aliasKey(owner, alias), remoteId: id }, owner)
      await recordContext(contextId)
      seen.add(id)
    }

    async function recordContext(contextId: Message['contextId']): Promise<void> {
      if (contextId !== undefined && contextId !== '') await claim({ kind: 'context', id: contextId }, owner)
    }

    return {
      async outcome(outcome: Outcome): Promise<void> {
        if (outcome.type === 'task') await recordTask(outcome.task)
        else await recordContext(outcome.message.contextId)
      },
      event(event: StreamEvent): Promise<void> | undefined {
        if (event.type === 'message') return recordContext(event.message.contextId)
        if (event.type === 'task') return recordTask(event.task)
        return seen.has(event.taskId) ? undefined : recordTask({ id: event.taskId, contextId: event.contextId })
      },
    }
  }

  /** The caller's tasks, by its records. Tasks that the agent has forgotten are left out. */
  async function listOwnTasks(request: ListTasksRequest, call: Call): Promise<TaskPage> {
    const { contextId, state, statusSince, historyLength, includeArtifacts = false } = request
    const limit = Math.min(request.pageSize ?? defaultPage, maxPage)
    const query = { agent, kind: 'task', owner: ownerOf(call.principal), limit } as const
    const page = await store.list(defined({ ...query, contextId, cursor: readCursor(request.pageToken) }))
    const tasks: Task[] = []
    for (let at = 0; at < page.records.length; at += concurrentReads) {
      const group = page.records.slice(at, at + concurrentReads)
      const read = await Promise.all(
        group.map(({ id }) => service.getTask(defined({ taskId: id, historyLength }), call).catch(orForgotten)),
      )
      tasks.push(...read.filter((task) => task !== undefined))
    }
    const matches = tasks.filter(({ status }) => {
      const isRecent = statusSince === undefined || (status.timestamp ?? '') >= statusSince
      return isRecent && (state === undefined || status.state === state)
    })
    return {
      tasks: includeArtifacts ? matches : matches.map((task) => ({ ...task, artifacts: [] })),
      nextPageToken: page.next === undefined ? '' : `${page.next}`,
      pageSize: limit,
      // With filters, only the agent knows how many of the other pages match.
      totalSize: page.total - (tasks.length - matches.length),
      withArtifacts: includeArtifacts,
    }
  }

  async function ownTask<R extends TaskAddress, T>(
    request: R,
    call: Call,
    next: (request: R, call: Call) => Promise<T>,
  ): Promise<T> {
    const taskId = await ownTaskId(request, ownerOf(call.principal))
    return await next(taskId === request.taskId ? request : { ...request, taskId }, call)
  }

  return intercept(service, [
    {
      async sendMessage(request, call, next) {
        const owner = ownerOf(call.principal)
        const forwarded = await withOwnReferences(request, owner)
        const outcome = await next(forwarded, withOwnerKey(call))
        await createRecorder(request, owner).outcome(outcome)
        return outcome
      },
      async *streamMessage(request, call, next) {
        const owner = ownerOf(call.principal)
        const forwarded = await withOwnReferences(request, owner)
        const recorder = createRecorder(request, owner)
        for await (const event of next(forwarded, withOwnerKey(call))) {
          const recorded = recorder.event(event)
          if (recorded) await recorded
          yield event
        }
      },
      getTask: ownTask,
      cancelTask: ownTask,
      listTasks: (request, call, next) => (listsByCaller ? next(request, call) : listOwnTasks(request, call)),
      async *subscribeToTask(request, call, next) {
        const taskId = await ownTaskId(request, ownerOf(call.principal))
        yield* next({ ...request, taskId }, call)
      },
      async createPushConfig(request, call, next) {
        const { taskId } = request
        if (taskId === undefined) return await next(request, call)
        const id = await ownTaskId({ ...request, taskId }, ownerOf(call.principal))
        return await next({ ...request, taskId: id }, call)
      },
      getPushConfig: ownTask,
      listPushConfigs: ownTask,
      deletePushConfig: ownTask,
    },
  ])
}

interface StoredRecord {
  readonly record: OwnershipRecord
  readonly number: number
  readonly created: number
}

const keyOf = ({ agent, kind, id }: OwnershipKey) => JSON.stringify([agent, kind, id])

const remoteKeyOf = ({ agent, kind, remoteId }: Pick<OwnershipRecord, 'agent' | 'kind' | 'remoteId'>) =>
  JSON.stringify([agent, kind, remoteId])

/** Two callers may choose the same id. */
const aliasKey = (owner: string, alias: string) => JSON.stringify([owner, alias])

/** Makes idempotency keys of different callers distinct for the agent. */
function withOwnerKey(call: Call): Call {
  const { idempotencyKey, principal } = call
  if (idempotencyKey === undefined) return call
  return withCall(call, { idempotencyKey: toHex(sha256(JSON.stringify([ownerOf(principal), idempotencyKey]))) })
}

function orForgotten(error: unknown): undefined {
  const isForgotten = error instanceof A2AError && (error.code === 'task-not-found' || error.code === 'task-expired')
  if (!isForgotten) throw error
}

function readCursor(token: string | undefined): number | undefined {
  if (token === undefined || token === '') return undefined
  if (!/^\d{1,15}$/.test(token)) throw invalidParams('pageToken', 'expected the nextPageToken of an earlier page')
  return Number(token)
}
