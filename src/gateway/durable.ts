import type { Agent, ServingContext } from '../core/agent/agent.ts'
import type { RuntimeAccess } from '../core/agent/agent-function.ts'
import type { Content } from '../core/agent/content.ts'
import type { Turn } from '../core/agent/turn.ts'
import { type Backoff, delayAfter } from '../core/base/backoff.ts'
import { sleep, systemClock } from '../core/base/clock.ts'
import { sha256, toHex } from '../core/base/hash.ts'
import { defined, isObject, type JsonObject, sameJson } from '../core/base/json.ts'
import type { CallWithTimeout } from '../core/client/options.ts'
import { isTransient } from '../core/client/resilience/retry.ts'
import { createTaskDiff } from '../core/client/resilience/task-diff.ts'
import { A2AError, asRejection, type ErrorCode } from '../core/protocol/errors.ts'
import type { ArtifactEvent, StatusEvent, StreamEvent } from '../core/protocol/events.ts'
import { restoreCredentials } from '../core/protocol/extensions/in-task-credentials.ts'
import type { Interceptor } from '../core/protocol/intercept.ts'
import { type Message, ownerOf, type Task, type TaskStatus } from '../core/protocol/model.ts'
import type { Call, SendRequest } from '../core/protocol/service.ts'
import { isEnded, isInterrupted } from '../core/protocol/states.ts'
import { loadFold } from '../core/tasks/fold.ts'
import { follow } from '../core/tasks/follow.ts'
import type { TaskLog } from '../core/tasks/log.ts'
import type { OwnershipStore } from '../core/tasks/ownership.ts'
import { profileOf } from './card.ts'
import type { GatewayContext } from './gateway-context.ts'
import type { NamedUpstream } from './options.ts'
import { audienceOf, createCall, createForwarder, forwardedHeaders, toCallerError } from './outgoing.ts'
import { extendedProfile } from './pass-through.ts'
import type { OriginCard, Upstream } from './upstream.ts'

/**
 * Marks the events of a relay with the number of the agent's event, 0 if it has none. A resumed turn is not compared with
 * marked events: it reads them from the log, and continues after the highest number.
 */
const markOf = (number: number) => `relay ${number}`

/** The member of request metadata by which headers reach the turn. Never sent to the agent or to readers. */
const headersMember = 'parley:gateway-headers'

/** Milliseconds in which the agent must answer a cancellation. */
const cancelTimeout = 10_000

/** Milliseconds in which the agent's own last status may arrive after it has canceled a task. */
const lastStatusWithin = 1_000

/** How long to wait before an agent that cannot be reached is tried again. */
const resumeBackoff: Backoff = { tries: Number.POSITIVE_INFINITY, minDelay: 250, maxDelay: 15_000 }

/** The tasks of an agent with the ids of the gateway and of the agent. */
interface TaskLinks {
  readonly store: OwnershipStore
  readonly agent: string
}

/**
 * An agent whose turns relay messages to the upstream and store what it answers. A turn keeps nothing in its journal: a
 * resumed one finds the upstream's task by the links of the gateway, and what was relayed before in the task's own log.
 */
export function durableAgent(
  origin: OriginCard,
  upstream: Upstream,
  named: NamedUpstream,
  { log, ...context }: GatewayContext & { readonly log: TaskLog },
): Agent {
  const links = { store: context.ownership, agent: named.name }
  const parts = { upstream, named, context, links, log }
  return {
    profile: { ...profileOf(origin, context.includesOrigin), recovery: { policy: 'resume', attempts: 100 } },
    run: (turn, runtime) => new RelayTurn(turn, runtime, parts).run(),
    serving: {
      interceptors: (servingContext) => [
        ...context.interceptorsFor(named.name),
        cancelAtAgent(parts, servingContext),
        passHeaders(parts),
      ],
      ...(origin.card.capabilities.extendedCard && {
        extendedCard: (call: Call, servingContext: ServingContext) =>
          extendedProfile(upstream.service, call, named, servingContext, context.via),
      }),
    },
  }
}

interface RelayParts {
  readonly upstream: Upstream
  readonly named: NamedUpstream
  readonly context: GatewayContext
  readonly links: TaskLinks
  readonly log: TaskLog
}

/** One turn: one message of the caller, and what the agent does about it. */
class RelayTurn {
  readonly #turn: Turn
  readonly #runtime: RuntimeAccess
  readonly #parts: RelayParts
  #remoteId: string | undefined
  /** Set while the agent waits for credentials: the caller may send them, or the agent gets them elsewhere. */
  #answered: Promise<'answered'> | undefined
  readonly #watching = new AbortController()
  #hasEvents = false
  /** The agent has sent something since it was last reached. */
  #hasProgress = false

  constructor(turn: Turn, runtime: RuntimeAccess, parts: RelayParts) {
    this.#turn = turn
    this.#runtime = runtime
    this.#parts = parts
  }

  async run(): Promise<Content | undefined> {
    const { named } = this.#parts
    const stop = new AbortController()
    const onAbort = () => stop.abort(this.#turn.signal.reason)
    if (this.#turn.signal.aborted) onAbort()
    this.#turn.signal.addEventListener('abort', onAbort)
    try {
      return await this.#relayUntilDone(stop.signal)
    } catch (error) {
      if (this.#turn.signal.aborted) throw await this.#afterStop(error)
      const failure = toCallerError(error, named.name, named.options)
      const { status } = this.#turn.task ?? {}
      if (this.#hasEvents || !status || !isInterrupted(status.state)) throw this.#toRejection(failure)
      // The agent did not take the answer, so the task still waits for one.
      await this.#emit({ type: 'status', status: { state: status.state, message: this.#refusal(failure) } })
      return undefined
    } finally {
      this.#turn.signal.removeEventListener('abort', onAbort)
      this.#watching.abort('over')
    }
  }

  /** Follows the agent's task again while the agent cannot be reached, for as long as the operator's patience. */
  async #relayUntilDone(signal: AbortSignal): Promise<Content | undefined> {
    const { patience = 600_000 } = this.#parts.named.options
    let isResumed = this.#turn.attempt > 1
    for (let failures = 0, since = Date.now(); ; isResumed = true) {
      this.#hasProgress = false
      try {
        return await this.#relay(signal, isResumed)
      } catch (error) {
        if (this.#hasProgress) [failures, since] = [0, Date.now()]
        const mayResume = this.#remoteId !== undefined && error instanceof A2AError && isTransient(error)
        if (!mayResume || signal.aborted || Date.now() - since > patience) throw error
        failures++
        await sleep(delayAfter(failures, resumeBackoff), signal, systemClock)
        if (signal.aborted) throw error
        await this.#turn.flush()
      }
    }
  }

  async #relay(signal: AbortSignal, isResumed: boolean): Promise<Content | undefined> {
    const call = await this.#call(signal)
    const earlier = isResumed ? await this.#relayedBefore() : undefined
    const link = await this.#findLink()
    this.#remoteId = link
    const stream = await this.#open(link, call, earlier)
    const diff = earlier && stream.isSnapshot ? differing(earlier.events) : undefined
    /** The question that the caller has just answered. */
    let answered = this.#turn.task?.status
    for await (const event of this.#untilAnswered(stream.events)) {
      if (event.type === 'message') return contentOf(event.message)
      // Some agents begin with the task as it was before the answer.
      if (answered && isSameQuestion(event, answered)) continue
      answered = undefined
      this.#hasEvents = this.#hasProgress = true
      await this.#link(event)
      const number = event.type === 'task' ? event.task.generation : event.generation
      this.#parts.upstream.noteNumber(number)
      const own = diff ? diff(event) : toOwnEvents(event)
      for (const [index, each] of own.entries()) {
        // Only the last one stands for the whole event: an interrupted group is relayed again.
        await this.#emit(each, index === own.length - 1 ? number : 0)
        if (each.type !== 'status') continue
        const { state } = each.status
        if (isEnded(state) || state === 'input-required') return undefined
        if (state === 'auth-required') this.#watchForAnswer()
      }
    }
    return undefined
  }

  /** Opens the stream of events: by sending the message, or by following the task if it was sent before. */
  async #open(link: string | undefined, call: CallWithTimeout, earlier: Relayed | undefined): Promise<OpenedStream> {
    const { service, numbersEvents } = this.#parts.upstream
    const request = await this.#request(link)
    const send = () => ({ events: service.streamMessage(request, call), isSnapshot: false })
    if (!earlier) return send()
    if (link !== undefined && earlier.number > 1) {
      const after = { taskId: link, after: earlier.number, includeEnded: true }
      return { events: service.subscribeToTask(after, call), isSnapshot: false }
    }
    // Under the same key, the agent recognises a message that it has got before. The message that started its task named no
    // task then, so with one it would be another message.
    const isRepeatable = link === undefined || !earlier.isFirstMessage
    if (numbersEvents() && earlier.events.length === 0 && isRepeatable) return send()
    if (link === undefined) throw mayHaveRun(this.#parts.named.name)
    const task = await service.getTask({ taskId: link }, call)
    const { messageId } = request.message
    const isSent = task.history.some((message) => message.messageId === messageId) || !isInterrupted(task.status.state)
    if (!isSent && earlier.events.length === 0) return send()
    const events = isEnded(task.status.state)
      ? onlyTask(task)
      : service.subscribeToTask({ taskId: link, includeEnded: true }, call)
    return { events, isSnapshot: true }
  }

  /** Ends the turn when the caller answers while the agent waits for credentials: the next turn sends the answer. */
  async *#untilAnswered(events: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
    try {
      for (;;) {
        const next = events.next()
        next.catch(() => {})
        const first = this.#answered ? await Promise.race([next, this.#answered]) : await next
        if (first === 'answered' || first.done) return
        yield first.value
      }
    } finally {
      void events.return(undefined).catch(() => {})
    }
  }

  #watchForAnswer(): void {
    this.#answered ??= (async () => {
      const { log } = this.#parts
      const { taskId } = this.#turn
      const head = await log.head(taskId)
      for await (const { event } of follow(log, taskId, head?.generation ?? 0, this.#watching.signal)) {
        if (event.type === 'message') return 'answered' as const
      }
      return await new Promise<never>(() => {})
    })()
    this.#answered.catch(() => {})
  }

  async #call(signal: AbortSignal): Promise<CallWithTimeout> {
    const { named, context } = this.#parts
    const audience = audienceOf(named.options)
    const token = audience === undefined ? undefined : await this.#turn.delegate(audience)
    const { trace, lineage, extensions, metadata, principal } = this.#turn
    const headers = metadata[headersMember]
    const key = digestOf([this.#turn.taskId, this.#turn.message.messageId, 'key'])
    return createCall(
      {
        signal,
        trace,
        token,
        extensions,
        principal,
        hops: lineage.chain.length,
        idempotencyKey: key,
        headers: isObject(headers) ? (headers as Readonly<Record<string, string>>) : undefined,
      },
      context.via,
    )
  }

  /** The message with the ids of the agent. Its id derives from the task and the message, so that a repetition has the same. */
  async #request(link: string | undefined): Promise<SendRequest> {
    const { message, metadata, acceptedOutputModes, taskId } = this.#turn
    const { taskId: _, contextId, referenceTaskIds, ...rest } = message
    // The task has its context. Versions that have no contexts in events would name a wrong one.
    const isNew = link === undefined && contextId !== undefined
    const remoteContext = isNew ? await this.#remoteOf('context', contextId) : undefined
    const references = referenceTaskIds && (await Promise.all(referenceTaskIds.map((id) => this.#remoteReference(id))))
    const { [headersMember]: __, ...others } = metadata
    const configuration = acceptedOutputModes.length > 0 ? { acceptedOutputModes } : undefined
    const request: SendRequest = defined({
      message: defined({
        ...rest,
        messageId: digestOf([taskId, message.messageId]),
        taskId: link,
        contextId: remoteContext,
        referenceTaskIds: references,
      }),
      metadata: Object.keys(others).length > 0 ? others : undefined,
      configuration,
    })
    const whole = restoreCredentials(request, this.#runtime.credentials())
    if (whole) return whole
    const text =
      'The credentials of this message came to a process that is gone, and are never stored: send them again.'
    throw new A2AError('invalid-params', text, { metadata: { reason: 'credentials-gone' } })
  }

  async #remoteOf(kind: 'task' | 'context', id: string): Promise<string | undefined> {
    const { store, agent } = this.#parts.links
    const record = await store.find({ agent, kind, id })
    return record?.owner === ownerOf(this.#turn.principal) ? record.remoteId : undefined
  }

  /** A task of the gateway by its id at the agent. Others may be of other agents, but never another caller's. */
  async #remoteReference(id: string): Promise<string> {
    const { store, agent } = this.#parts.links
    const own = await this.#remoteOf('task', id)
    if (own !== undefined) return own
    const isForeign = await store.findRemote({ agent, kind: 'task', remoteId: id })
    const exists = isForeign ?? (await store.find({ agent, kind: 'task', id }))
    if (exists) throw asRejection(new A2AError('task-not-found', `There is no task ${id}, or it is not yours.`))
    return id
  }

  #findLink(): Promise<string | undefined> {
    return this.#remoteOf('task', this.#turn.taskId)
  }

  /** Stores the ids of the agent before an event reveals that it has the task. */
  async #link(event: Exclude<StreamEvent, { type: 'message' }>): Promise<void> {
    if (this.#remoteId !== undefined) return
    const { store, agent } = this.#parts.links
    const { taskId, contextId, principal } = this.#turn
    const owner = ownerOf(principal)
    const remote = event.type === 'task' ? event.task : { id: event.taskId, contextId: event.contextId }
    await store.claim({ agent, kind: 'task', id: taskId, owner, remoteId: remote.id, contextId })
    const hasContext = remote.contextId !== '' && remote.contextId !== remote.id
    if (hasContext) await store.claim({ agent, kind: 'context', id: contextId, owner, remoteId: remote.contextId })
    this.#remoteId = remote.id
  }

  /** The event with the ids of the gateway. */
  async #emit(event: StatusEvent | ArtifactEvent, number = 0): Promise<void> {
    if (event.type === 'artifact') return await this.#runtime.emit({ ...event, step: markOf(number) })
    const { message, state } = event.status
    // A task that its caller wanted at once is submitted already, and may even count as working.
    if (state === 'submitted' && (await this.#parts.log.head(this.#turn.taskId))?.phase !== 'received') return
    const status: TaskStatus = message ? { ...event.status, message: await this.#ownMessage(message) } : event.status
    await this.#runtime.emit({ ...event, status, step: markOf(number) })
  }

  async #ownMessage(message: Message): Promise<Message> {
    const { taskId, contextId } = this.#turn
    const { store, agent } = this.#parts.links
    const { referenceTaskIds } = message
    const own = async (remoteId: string) => (await store.findRemote({ agent, kind: 'task', remoteId }))?.id ?? remoteId
    const references = referenceTaskIds && (await Promise.all(referenceTaskIds.map(own)))
    return defined({ ...message, taskId, contextId, referenceTaskIds: references })
  }

  /** What earlier attempts of this turn stored. */
  async #relayedBefore(): Promise<Relayed> {
    const { log } = this.#parts
    const { taskId, message } = this.#turn
    const events: (StatusEvent | ArtifactEvent)[] = []
    let number = 0
    let isOfTurn = false
    let firstMessage: string | undefined
    for (let seen = 0; ; ) {
      const page = await log.read(taskId, seen)
      if (page.length === 0) return { events, number, isFirstMessage: firstMessage === message.messageId }
      for (const { generation, event } of page) {
        seen = generation
        if (event.type === 'message') firstMessage ??= event.message.messageId
        if (event.type === 'message' && event.message.messageId === message.messageId) isOfTurn = true
        if (!isOfTurn || (event.type !== 'status' && event.type !== 'artifact')) continue
        const [, text] = /^relay (\d+)$/.exec(event.step ?? '') ?? []
        if (text === undefined) continue
        events.push(event)
        number = Math.max(number, Number(text))
      }
    }
  }

  /**
   * The turn was stopped. A task that its caller or a time limit has ended is canceled at the agent too; its own last
   * status is stored if it comes in time. On shutdown, another process continues.
   */
  async #afterStop(error: unknown): Promise<unknown> {
    const { signal } = this.#turn
    const isEnding = signal.reason instanceof Error && /canceled|deadline|expired|inactive/.test(signal.reason.message)
    if (!isEnding || this.#remoteId === undefined) return error
    const { service } = this.#parts.upstream
    const taskId = this.#remoteId
    try {
      const call = await this.#call(AbortSignal.timeout(lastStatusWithin))
      const task = await service.cancelTask({ taskId }, call).catch(() => service.getTask({ taskId }, call))
      if (isEnded(task.status.state)) await this.#emit({ type: 'status', status: task.status })
    } catch {
      // The agent does not answer; the task ends here all the same.
    }
    return error
  }

  /** Why the agent did not take the caller's answer. Other errors than those for callers may hold secrets. */
  #refusal(error: unknown): Message {
    const { taskId, contextId } = this.#turn
    const text = error instanceof A2AError ? error.message : 'The answer could not be passed on: send it again.'
    return { messageId: crypto.randomUUID(), role: 'agent', taskId, contextId, parts: [{ text }] }
  }

  /** Errors before the agent has a task are the answer to the message, as they would be without the gateway. */
  #toRejection(error: unknown): unknown {
    return error instanceof A2AError && this.#remoteId === undefined ? asRejection(error) : error
  }
}

interface OpenedStream {
  readonly events: AsyncGenerator<StreamEvent>
  /** The stream begins with the task as it is, not where the last one ended. */
  readonly isSnapshot: boolean
}

/** What was relayed before, and the number of the agent's last event among it. */
interface Relayed {
  readonly events: readonly (StatusEvent | ArtifactEvent)[]
  readonly number: number
  /** Whether the message of the turn started the task. */
  readonly isFirstMessage: boolean
}

/** Agents that do not number their events send the task as it is: only what is missing is stored. */
function differing(earlier: Relayed['events']): (event: StreamEvent) => readonly (StatusEvent | ArtifactEvent)[] {
  const diff = createTaskDiff()
  const ref = { taskId: '', contextId: '', generation: 0 }
  for (const event of earlier) diff.record({ ...event, ...ref })
  return (event) => {
    const changes = event.type === 'task' ? diff.missingEvents(event.task) : [diff.changeIn(event)]
    const missing = changes.flatMap((change) => (change ? toOwnEvents(change) : []))
    for (const each of missing) diff.record({ ...each, ...ref })
    return missing
  }
}

/** A task is its artifacts and its status. */
function toOwnEvents(event: StreamEvent): readonly (StatusEvent | ArtifactEvent)[] {
  switch (event.type) {
    case 'message':
      return []
    case 'task': {
      const { artifacts, status, metadata } = event.task
      const own: (StatusEvent | ArtifactEvent)[] = artifacts.map((artifact) => ({ type: 'artifact', artifact }))
      return [...own, { type: 'status', status: metadata ? { ...status, taskMetadata: metadata } : status }]
    }
    case 'status': {
      const { status, metadata } = event
      return [defined({ type: 'status', status, metadata })]
    }
    case 'artifact': {
      const { artifact, append, lastChunk, metadata } = event
      return [defined({ type: 'artifact', artifact, append, lastChunk, metadata })]
    }
  }
}

/** Whether an event repeats the question before the message of the turn. */
function isSameQuestion(event: StreamEvent, { state, message }: TaskStatus): boolean {
  if (event.type === 'message' || event.type === 'artifact') return false
  const { status } = event.type === 'task' ? event.task : event
  if (status.state !== state || !isInterrupted(state)) return false
  return sameJson(status.message?.parts, message?.parts) && status.message?.messageId === message?.messageId
}

async function* onlyTask(task: Task): AsyncGenerator<StreamEvent> {
  yield { type: 'task', task, isLast: true }
}

/** Asks the agent first: a task that the agent goes on with is not canceled here. */
function cancelAtAgent(
  { upstream, links, log, named, context }: RelayParts,
  servingContext: ServingContext,
): Interceptor {
  const outgoing = createForwarder(named.options, servingContext, context.via)

  async function ownTask(taskId: string): Promise<Task | undefined> {
    const head = await log.head(taskId)
    return head && (await loadFold(log, head)).task()
  }

  return {
    async cancelTask(request, call, next) {
      const { store, agent } = links
      const record = await store.find({ agent, kind: 'task', id: request.taskId })
      const head = record?.owner === ownerOf(call.principal) ? await log.head(request.taskId) : undefined
      if (!record || !head || head.phase === 'expired' || isEnded(head.phase)) return await next(request, call)
      let canceled: Task
      try {
        const cancel = await outgoing(call, cancelTimeout)
        canceled = await upstream.service.cancelTask({ taskId: record.remoteId }, cancel)
      } catch (error) {
        throw toCallerError(error, named.name, named.options)
      }
      if (canceled.status.state !== 'canceled') {
        return (await ownTask(request.taskId)) ?? (await next(request, call))
      }
      try {
        return await next(request, call)
      } catch (error) {
        // The relay may have stored the agent's own status first.
        const task = isCode(error, 'task-not-cancelable') ? await ownTask(request.taskId) : undefined
        if (task?.status.state !== 'canceled') throw error
        return task
      }
    },
  }
}

/** Passes headers on to the turn, which may run in another process. */
function passHeaders({ named }: RelayParts): Interceptor {
  function withHeaders(request: SendRequest, call: Call): SendRequest {
    const headers = forwardedHeaders(named.options, call.header && ((name) => call.header?.(name)))
    const { [headersMember]: _, ...metadata }: JsonObject = request.metadata ?? {}
    if (!headers) return request.metadata?.[headersMember] === undefined ? request : { ...request, metadata }
    return { ...request, metadata: { ...metadata, [headersMember]: headers } }
  }
  return {
    sendMessage: (request, call, next) => next(withHeaders(request, call), call),
    async *streamMessage(request, call, next) {
      yield* next(withHeaders(request, call), call)
    },
  }
}

function contentOf({ parts, metadata, extensions, referenceTaskIds }: Message): Content {
  return defined({ parts, metadata, extensions, referenceTaskIds })
}

/** A stable id, in the form of a UUID. */
function digestOf(parts: readonly string[]): string {
  const hex = toHex(sha256(JSON.stringify(parts)))
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof A2AError && error.code === code
}

function mayHaveRun(name: string): A2AError {
  const text = `The gateway stopped while it sent the message, and ${name} does not recognise repeated messages: it may have run.`
  return new A2AError('unavailable', text, { metadata: { mayHaveRun: 'true' } })
}
