import { createAgentEvents } from '../../agent/content.ts'
import { defined } from '../../base/json.ts'
import type { AgentExtension } from '../../protocol/card.ts'
import { A2AError, generationMismatch, invalidParams, taskNotFound } from '../../protocol/errors.ts'
import type { MessageEvent, TaskEvent } from '../../protocol/events.ts'
import { requestsSensitiveInput } from '../../protocol/extensions/client-tools.ts'
import { extractCredentials, type InBand } from '../../protocol/extensions/in-task-credentials.ts'
import { checkLineage, lineageExtension, readLineage, withHops } from '../../protocol/extensions/lineage.ts'
import { isId } from '../../protocol/ids.ts'
import type { Part, TaskStatus } from '../../protocol/model.ts'
import type { Call, SendRequest, TaskAddress } from '../../protocol/service.ts'
import { isInterrupted } from '../../protocol/states.ts'
import type { Claim, NewTask } from '../../tasks/log.ts'
import { revisionAt } from '../../tasks/revisions.ts'
import type { CallerLog, OperationContext, VisibleHead } from '../caller-log.ts'
import type { RuntimeSettings } from '../options.ts'
import { recoverOrphan } from '../recovery/orphans.ts'
import { redactAnswer } from '../secrets.ts'
import { TaskCreation } from '../turns/task-creation.ts'
import {
  type AcceptedMessage,
  acceptedMessageOf,
  aliasDigest,
  claimsForAlias,
  claimsForMessage,
  claimsForNewTask,
  findEarlier,
  isFirstMessage,
  readFirstMessage,
} from './idempotency.ts'
import { findWaitingTask, hasResults, rejectResults, requireOpenRequests } from './input-requests.ts'
import { requireUrlSchemes } from './media-types.ts'
import { registerInline } from './push-configs.ts'
import { requireQueueSpace, waitUntilDequeued } from './queue-limit.ts'

export interface AcceptContext extends OperationContext {
  /** The caller reads a stream: it gets the task as soon as it is clear that the agent does not answer at once. */
  readonly isStreamed?: true
}

/** The context of one message, with the secrets that were removed from it before it is stored. */
interface MessageContext extends AcceptContext {
  readonly inBand?: readonly InBand[]
  /** The parts of an answer to a sensitive question. */
  readonly sensitiveParts?: readonly Part[]
  /** Called when the write of a new task has begun, for what is stored in the same transaction. */
  readonly onCreating?: (task: NewTask) => void
}

/** Stores a message, at most once, and starts a run that answers it unless one is working on the task. */
export async function acceptMessage(
  received: SendRequest,
  call: Call,
  context: AcceptContext,
): Promise<AcceptedMessage> {
  const original = call.hops ? countHops(received, call.hops, context) : received
  const extracted = isPlain(original) ? undefined : checkAndExtract(original, context)
  const request = extracted?.request ?? original
  const messageContext = extracted ? { ...context, inBand: extracted.credentials } : context
  const decided = context.runs.expect()
  try {
    return request.configuration?.push
      ? await acceptWithPush(request, call, messageContext)
      : await routeMessage(request, call, messageContext)
  } finally {
    decided()
  }
}

/** Agents that drop the lineage of a message may pass on the header, which still shows how long the chain is. */
function countHops(request: SendRequest, hops: number, { settings }: OperationContext): SendRequest {
  const { message } = request
  const metadata = withHops(message.metadata, hops, settings.calls.self.ids)
  return metadata === message.metadata ? request : { ...request, message: { ...message, ...defined({ metadata }) } }
}

/**
 * Whether the message is text without metadata, as most messages are, and its caller accepts any answer. Then it has
 * nothing that belongs to an extension, neither credentials nor the results of tools, and no media type to check.
 */
function isPlain({ message, metadata, configuration }: SendRequest): boolean {
  if (metadata || message.metadata || configuration?.acceptedOutputModes) return false
  return message.parts.every((part) => 'text' in part && !part.mediaType)
}

function checkAndExtract(request: SendRequest, { settings }: AcceptContext) {
  requireUrlSchemes(request.message.parts, settings.urlSchemes)
  return extractCredentials(request)
}

/** Rejects a forbidden webhook before the message is stored, and registers a valid one before the answer. */
async function acceptWithPush(request: SendRequest, call: Call, context: MessageContext): Promise<AcceptedMessage> {
  const { push, log } = context
  const config = request.configuration?.push
  if (!config) return await routeMessage(request, call, context)
  if (!push) {
    throw new A2AError('push-not-supported', 'This agent sends no push notifications: stream or poll the task instead.')
  }
  await push.check(config, call, 'configuration.push.url')
  const register = (message: AcceptedMessage) => registerInline(config, message, { request, call, push, log })
  let registered: Promise<unknown> | undefined
  const onCreating = (task: NewTask) => {
    registered = register({ task, generation: 1 })
    registered.catch(() => {}) // awaited below, unless the task could not be stored
  }
  const message = await routeMessage(request, call, push.isStoredAfterTask ? { ...context, onCreating } : context)
  await (registered ?? register(message))
  return message
}

/**
 * Creates a task, or continues the one that the message belongs to. Not async: most messages create a task, and need no
 * lookup. The tasks that a message references are not looked up: they may be of another agent, and a caller must not
 * learn which ids exist.
 */
function routeMessage(request: SendRequest, call: Call, context: MessageContext): Promise<AcceptedMessage> {
  const { extensions } = context.settings.agent.profile
  if (extensions) activateExtensions(extensions, call)
  const { message, quirks: { alias, mayAnswer } = {} } = request
  if (message.metadata?.[lineageExtension] !== undefined) {
    const { calls, clock } = context.settings
    checkLineage(readLineage(message.metadata, calls.self.ids), calls.self, clock.now())
  }
  if (mayAnswer) return continueWaitingTask(mayAnswer, request, call, context)
  if (message.taskId !== undefined) return continueTask({ taskId: message.taskId }, request, call, context)
  const isAnswer = !isPlain(request) && hasResults(message)
  if (context.settings.answersByContext && message.contextId !== undefined && alias === undefined) {
    return answerInContext(message.contextId, request, call, context)
  }
  if (isAnswer && alias === undefined) rejectResults(request)
  // Storing a task finds an alias that the caller has used before. Only a task id of ours may exist without a claim.
  return alias !== undefined && (isAnswer || isId(alias))
    ? createOrContinue(alias, request, call, context)
    : createTask(request, call, context)
}

async function createTask(request: SendRequest, call: Call, context: MessageContext): Promise<AcceptedMessage> {
  const { settings, runs, log } = context
  const { holder, leaseTtl, dedupeNewTasks, recovery, mediaTypes } = settings
  const { alias, alwaysTask = false } = request.quirks ?? {}
  try {
    if (!isPlain(request)) mediaTypes?.requireForNewTask(request)
    if (settings.agent.check) await settings.agent.check(request)
  } catch (error) {
    // A task of this alias may exist. Its messages are not the first ones.
    if (alias === undefined || !(await log.find(aliasAddress(alias)))) throw error
    return await continueTask(aliasAddress(alias), request, call, context)
  }
  const task = log.newTask(request.message.contextId)
  const event = toMessageEvent(request, call, task, context)
  // A caller that named the task, that reads only tasks, or that does not wait for an answer gets a task at once.
  const isTask = alias !== undefined || alwaysTask || request.configuration?.returnImmediately === true
  const events: TaskEvent[] = [event]
  let status: TaskStatus | undefined
  if (recovery.isJournaled) events.push({ type: 'journal', entry: { type: 'attempt', message: 1, attempt: 1 } })
  if (isTask) {
    const agentEvents = createAgentEvents(task, settings.clock.now)
    if (request.metadata && settings.keepMetadata) agentEvents.addTaskMetadata(request.metadata)
    const submitted = agentEvents.status('submitted')
    status = submitted.status
    events.push({ ...submitted, implied: true })
  }
  const isDeduplicated = call.idempotencyKey !== undefined || dedupeNewTasks
  let claims: readonly Claim[] = []
  if (isDeduplicated) claims = await claimsForNewTask(request, call, settings)
  else if (alias !== undefined) claims = claimsForAlias(alias)

  const release = settings.acquireSlot ? await settings.acquireSlot('turns', request, call) : undefined
  const options = { lease: { holder, ttl: leaseTtl }, claims }
  const taskAfter = context.isStreamed ? settings.taskAfterInStreams : settings.taskAfter
  if (isStoredWithAnswer({ isTask, claims }, settings)) {
    const creation = new TaskCreation(task, events, options.lease)
    if (context.onCreating) void creation.begun.then(() => context.onCreating?.(task))
    const message = { event, generation: 1 }
    runs.start({ task, generation: 1, fence: 1, phase: 'received', creation, message, taskAfter, onDone: release })
    await creation.stored
    return { task, generation: 1 }
  }
  const storing = log.create(task, events, options)
  // With claims, the message may belong to another task.
  if (claims.length === 0) context.onCreating?.(task)
  const created = await (release ? releaseOnError(storing, release) : storing)
  if (created.type === 'known') {
    release?.()
    // The task of this alias exists, or the same message was sent before.
    return created.claimed.digest === aliasDigest && alias !== undefined
      ? await continueTask(aliasAddress(alias), request, call, context)
      : await acceptedMessageOf(
          log,
          created.claimed,
          claims.map(({ digest }) => digest),
        )
  }
  const { generation, lease } = created
  runs.start({
    task: { ...task, status },
    generation,
    ...lease,
    phase: isTask ? 'submitted' : 'received',
    message: { event, generation: 1 },
    taskAfter,
    onDone: release,
  })
  return { task, generation: 1 }
}

/**
 * Whether the agent may start before its message is stored, so that both are stored in one write. Not if the message may
 * have been stored before, if its caller wants the task at once, or if the author wants every event stored first.
 */
function isStoredWithAnswer(
  { isTask, claims }: { readonly isTask: boolean; readonly claims: readonly Claim[] },
  { durability, recovery }: Pick<RuntimeSettings, 'durability' | 'recovery'>,
): boolean {
  return !isTask && claims.length === 0 && durability === 'window' && !recovery.isJournaled
}

async function continueTask(
  address: TaskAddress,
  original: SendRequest,
  call: Call,
  context: MessageContext,
): Promise<AcceptedMessage> {
  const { settings, log } = context
  let isAllowed = false
  for (;;) {
    const head = await log.task(address)
    const { request, messageContext, isSensitive } = removeSecrets(head, original, context)
    const messageClaims = await claimsForMessage(head, request, call)
    const { contextId = head.contextId } = request.message
    if (contextId !== head.contextId) {
      throw invalidParams(
        'message.contextId',
        `task ${address.taskId} is of another context; leave it out, or send its own`,
      )
    }
    // The claim of a sensitive answer was made with the redacted request, even if the task has since moved on.
    const redactedClaims = () => (isSensitive ? messageClaims : claimsForMessage(head, redactAnswer(original), call))
    const { reusedMessageId } = settings
    const earlier = { log, owner: head.owner, reusedMessageId, redactedClaims }
    const claims = await findEarlier(messageClaims, earlier)
    if ('task' in claims) return claims
    const opening = await readFirstMessage(head, log)
    if (opening && !isAllowed) await settings.checkContinuation?.(opening, request, call)
    isAllowed = true
    if (isFirstMessage(opening, request, reusedMessageId)) return { task: head, generation: 1, isRepeated: true }
    await requireRevision(head, address.taskId, request, log)
    settings.mediaTypes?.requireForTask(request)
    await requireQueueSpace(head, address.taskId, context)
    if (hasResults(request.message)) await requireOpenRequests(head, address.taskId, request, log)
    const message = await appendMessage(head, request, call, messageContext, { address, claims, opening })
    if (message) return message
  }
}

/**
 * Throws if the message was written for another revision of its task. If the task changes before the message is stored,
 * the append is refused, and this check is repeated.
 */
async function requireRevision(
  head: VisibleHead,
  taskId: string,
  { configuration }: SendRequest,
  log: CallerLog,
): Promise<void> {
  const expected = configuration?.ifRevision
  if (expected === undefined) return
  const current = await revisionAt(log, head.taskId, head.generation)
  if (current !== expected) throw generationMismatch(taskId, expected, current)
}

interface Continuation {
  readonly address: TaskAddress
  readonly claims: readonly Claim[]
  readonly opening: MessageEvent | undefined
}

/**
 * Appends a message to its task. A task that waits for its caller waits no longer: its status is stored in the same
 * write, so that no reader sees the question again. Returns undefined if the log has changed since `head` was read.
 */
async function appendMessage(
  head: VisibleHead,
  request: SendRequest,
  call: Call,
  context: MessageContext,
  { address, claims, opening }: Continuation,
): Promise<AcceptedMessage | undefined> {
  const { settings, runs, log } = context
  const { holder, leaseTtl } = settings
  const { taskId, phase } = head
  const event = toMessageEvent(request, call, head, context)
  const isAnswer = isInterrupted(phase)
  const release = await settings.acquireSlot?.(isAnswer ? 'turns' : 'queued', request, call, opening)
  const answered = runs.get(taskId)?.isBusy ? 'submitted' : 'working'
  const continued = createAgentEvents(head, settings.clock.now).status(answered)
  const events = isAnswer ? [event, { ...continued, implied: true, withAnswer: true } as const] : [event]
  const storing = log.append(taskId, head.generation, events, { lease: { holder, ttl: leaseTtl }, claims })
  const appended = await (release ? releaseOnError(storing, release) : storing)
  // The next attempt takes a slot again, and must not find this one taken.
  if (appended.type !== 'stored') await release?.()
  if (appended.type === 'gone') throw taskNotFound(address.taskId)
  if (appended.type !== 'stored') return undefined
  const generation = head.generation + 1
  const { lease } = appended
  const after = isAnswer ? ({ phase: answered, status: continued.status } as const) : { phase }
  const stored = { ...head, generation: appended.generation, ...after }
  if (lease?.isTakenOver) await recoverOrphan(stored, lease, context, release)
  else if (lease) {
    runs.start({ ...stored, task: stored, ...lease, message: { event, generation }, onDone: release })
  } else waitInQueue(taskId, generation, context, release)
  return { task: head, generation }
}

/** A run holds the lease, here or in another process, and gets the message from the log. */
function waitInQueue(
  taskId: string,
  generation: number,
  context: OperationContext,
  release: (() => void) | undefined,
): void {
  const run = context.runs.get(taskId)
  run?.sync()
  if (!release) return
  const { log, closing: signal, settings } = context
  if (run) run.onDequeued(generation, release)
  else void waitUntilDequeued({ taskId, generation, log, clock: settings.clock, signal }).then(release)
}

/** Continues the task that waits for the tool results in the message. */
async function continueWaitingTask(
  taskIds: readonly string[],
  request: SendRequest,
  call: Call,
  context: MessageContext,
): Promise<AcceptedMessage> {
  const [first = ''] = taskIds
  const taskId = (await findWaitingTask(taskIds, request, context.log)) ?? first
  return await continueTask({ taskId }, request, call, context)
}

/** Continues the task of the context that waits for an answer. Without one, the message creates a task. */
async function answerInContext(
  contextId: string,
  request: SendRequest,
  call: Call,
  context: MessageContext,
): Promise<AcceptedMessage> {
  const { log } = context
  const { heads } = await log.list({ contextId, phase: 'input-required', limit: 20 })
  const [first, second] = heads.filter(({ owner }) => owner === log.owner)
  if (first && second) {
    const text = `expected the task that the message answers: context ${contextId} has open questions in the tasks ${first.taskId} and ${second.taskId}`
    throw invalidParams('message.taskId', text)
  }
  if (first) return await continueTask({ taskId: first.taskId }, request, call, context)
  if (hasResults(request.message)) rejectResults(request)
  return await createTask(request, call, context)
}

async function createOrContinue(
  alias: string,
  request: SendRequest,
  call: Call,
  context: MessageContext,
): Promise<AcceptedMessage> {
  const address = aliasAddress(alias)
  if (await context.log.find(address)) return await continueTask(address, request, call, context)
  if (hasResults(request.message)) rejectResults(request)
  return await createTask(request, call, context)
}

function aliasAddress(alias: string): TaskAddress {
  return { taskId: alias, isAlias: true }
}

/** Removes what a waiting task asked for and must not be stored: credentials, or the answer to a sensitive question. */
function removeSecrets({ phase, status }: VisibleHead, original: SendRequest, context: MessageContext) {
  const extracted = phase === 'auth-required' ? extractCredentials(original, true) : undefined
  const isSensitive = phase === 'input-required' && requestsSensitiveInput(status?.message)
  const messageContext: MessageContext = {
    ...context,
    ...defined({
      inBand: extracted && [...(context.inBand ?? []), ...extracted.credentials],
      sensitiveParts: isSensitive ? original.message.parts : undefined,
    }),
  }
  const request = isSensitive ? redactAnswer(original) : (extracted?.request ?? original)
  return { request, messageContext, isSensitive }
}

/** The event that is stored for a message. Its secrets stay in the memory of this process, under the ticket. */
function toMessageEvent(
  request: SendRequest,
  call: Call,
  { taskId, contextId }: NewTask,
  { settings: { agent, delegation, secretStore }, inBand = [], sensitiveParts }: MessageContext,
): MessageEvent {
  const token = delegation?.tokenOf(call.principal)
  const hasSecrets = token !== undefined || inBand.length > 0 || sensitiveParts !== undefined
  const ticket = hasSecrets ? secretStore.add({ token, inBand, parts: sensitiveParts }) : undefined
  return defined({
    type: 'message',
    message: { ...request.message, taskId, contextId },
    principal: call.principal,
    metadata: request.metadata,
    acceptedOutputModes: request.configuration?.acceptedOutputModes,
    dialect: request.dialect,
    extensions: call.extensions && activeExtensions(agent.profile.extensions ?? [], call),
    trace: call.trace,
    tellsTrace: request.traceMetadata ? true : undefined,
    ticket,
    sensitive: sensitiveParts ? true : undefined,
  })
}

async function releaseOnError<T>(storing: Promise<T>, release: () => void): Promise<T> {
  try {
    return await storing
  } catch (error) {
    release()
    throw error
  }
}

/** Throws if the call does not declare a required extension. Adds the active ones to `call.activated`. */
function activateExtensions(declared: readonly AgentExtension[], call: Call): void {
  const { extensions = [], activated } = call
  const missing = declared.filter(({ required, uri }) => required && !extensions.includes(uri)).map(({ uri }) => uri)
  if (missing.length > 0) {
    const text = `This agent insists on extensions that the call does not declare: ${missing.join(', ')}. Name them in the header A2A-Extensions.`
    throw new A2AError('extension-required', text, { metadata: { requiredExtensions: missing.join(', ') } })
  }
  for (const uri of activeExtensions(declared, call)) activated?.add(uri)
}

/** The agent's extensions that the call requests. Unknown ones are ignored (A2A 1.0 §3.2.6). */
function activeExtensions(declared: readonly AgentExtension[], { extensions = [] }: Call): readonly string[] {
  return extensions.filter((uri) => declared.some((extension) => extension.uri === uri))
}
