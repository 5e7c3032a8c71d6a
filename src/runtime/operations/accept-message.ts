import { createAgentEvents } from '../../agent/turn-output.ts'
import { A2AError, invalidParams, taskNotFound } from '../../protocol/errors.ts'
import type { MessageEvent, TaskEvent } from '../../protocol/events.ts'
import { clientTools, requestsSensitiveInput } from '../../protocol/extensions/client-tools.ts'
import { extractCredentials } from '../../protocol/extensions/in-task-credentials.ts'
import { checkLineage, lineageExtension, readLineage } from '../../protocol/extensions/lineage.ts'
import type { Call, SendRequest, TaskAddress } from '../../protocol/service.ts'
import { isInterrupted } from '../../protocol/states.ts'
import type { NewTask } from '../../tasks/log.ts'
import { redactAnswer } from '../secrets.ts'
import { activateExtensions, activeExtensions, type OperationContext } from './context.ts'
import {
  type AcceptedMessage,
  acceptedMessageOf,
  aliasDigest,
  claimsForAlias,
  claimsForMessage,
  claimsForNewTask,
  findEarlier,
  isFirstMessage,
  isId,
  newId,
  readFirstMessage,
} from './idempotency.ts'
import { findWaitingTask, hasResults, rejectResults, requireOpenRequests } from './input-requests.ts'
import { traceOfTask } from './push-configs.ts'
import { requireQueueSpace, waitUntilDequeued } from './queue-limit.ts'

/** Stores a message, at most once, and sees to it that somebody answers it. */
export async function acceptMessage(given: SendRequest, call: Call, outer: OperationContext): Promise<AcceptedMessage> {
  const taken = extractCredentials(given)
  const request = taken?.request ?? given
  const house = taken ? { ...outer, inBand: taken.credentials } : outer
  const decided = house.runs.expect()
  try {
    return request.configuration?.push
      ? await admitWithPush(request, call, house)
      : await routeMessage(request, call, house)
  } finally {
    decided()
  }
}

/** A webhook that may not be called is refused before anything is stored, and one that may is there before the answer. */
async function admitWithPush(request: SendRequest, call: Call, house: OperationContext): Promise<AcceptedMessage> {
  const { push, log } = house
  const config = request.configuration?.push
  if (!config) return await routeMessage(request, call, house)
  if (!push) {
    throw new A2AError('push-not-supported', 'This agent sends no push notifications: stream or poll the task instead.')
  }
  await push.check(config, 'configuration.push.url')
  const ticket = await routeMessage(request, call, house)
  const { dialect, alias, tenant } = request
  const isFirst = ticket.generation === 1 && !ticket.isRepeated
  await push.register({
    task: ticket.task,
    owner: log.owner,
    config: { ...config, ...(dialect !== undefined && { dialect }), ...(tenant !== undefined && { tenant }) },
    after: ticket.generation,
    isInline: true,
    isFirst,
    ...(alias !== undefined && { alias }),
    trace: isFirst ? call.trace : await traceOfTask(ticket.task.taskId, log),
    knowsRequests: call.extensions?.includes(clientTools),
  })
  return ticket
}

/**
 * Not async: most messages begin a task, and nothing has to be looked up for them. Nor are the tasks to which a message
 * refers: they may be those of another agent, as a parent's is, and that one of ours exists is nobody's business.
 */
function routeMessage(request: SendRequest, call: Call, house: OperationContext): Promise<AcceptedMessage> {
  const { extensions } = house.settings.agent.profile
  if (extensions) activateExtensions(extensions, call)
  const { message, alias, mayAnswer } = request
  if (message.metadata?.[lineageExtension] !== undefined) {
    const { calls, clock } = house.settings
    checkLineage(readLineage(message.metadata, calls.self.ids), calls.self, clock.now())
  }
  if (mayAnswer) return answer(mayAnswer, request, call, house)
  if (message.taskId !== undefined) return continueTask({ taskId: message.taskId }, request, call, house)
  const isAnswer = hasResults(message)
  if (isAnswer && alias === undefined) rejectResults(request)
  // A name that its caller has used before is found when the task is stored; only one of ours may be known by itself.
  return alias !== undefined && (isAnswer || isId(alias))
    ? beginOrGoOn(alias, request, call, house)
    : createTask(request, call, house)
}

/** A result that was sent by reference goes to the task that waits for it. */
async function answer(
  references: readonly string[],
  request: SendRequest,
  call: Call,
  house: OperationContext,
): Promise<AcceptedMessage> {
  const [first = ''] = references
  const taskId = (await findWaitingTask(references, request, house.log)) ?? first
  return await continueTask({ taskId }, request, call, house)
}

async function continueTask(
  address: TaskAddress,
  given: SendRequest,
  call: Call,
  outer: OperationContext,
): Promise<AcceptedMessage> {
  const { settings, runs, log } = outer
  const { holder, leaseTtl } = settings
  let isChecked = false
  for (;;) {
    const head = await log.task(address)
    const { taskId } = head
    const awaited = head.phase === 'auth-required' ? extractCredentials(given, true) : undefined
    const isSecret = head.phase === 'input-required' && requestsSensitiveInput(head.status?.message)
    const request = isSecret ? redactAnswer(given) : (awaited?.request ?? given)
    const house: OperationContext = {
      ...outer,
      ...(awaited && { inBand: [...(outer.inBand ?? []), ...awaited.credentials] }),
      ...(isSecret && { secret: given.message.parts }),
    }
    const claims = await claimsForMessage(head, request, call)
    const { contextId = head.contextId } = request.message
    if (contextId !== head.contextId) {
      throw invalidParams(
        'message.contextId',
        `task ${address.taskId} is of another context; leave it out, or send its own`,
      )
    }
    // What answered a question for a secret was claimed by what is stored of it, and may come once more after that.
    const others = () => (isSecret ? claims : claimsForMessage(head, redactAnswer(given), call))
    const before = await findEarlier(log, head.owner, claims, others)
    if (before) return before
    const opening = await readFirstMessage(head, log)
    if (opening && !isChecked) await settings.checkContinuation?.(opening, request, call)
    isChecked = true
    if (isFirstMessage(opening, head, request)) return { task: head, generation: 1, isRepeated: true }
    await requireQueueSpace(head, address.taskId, house)
    if (hasResults(request.message)) await requireOpenRequests(head, address.taskId, request, log)

    const received = toMessageEvent(request, call, head, house)
    const release = await settings.acquireSlot?.(isInterrupted(head.phase) ? 'turns' : 'queued', request, call, opening)
    const storing = log.append(taskId, head.generation, [received], { lease: { holder, ttl: leaseTtl }, claims })
    const appended = await (release ? orRelease(storing, release) : storing)
    if (appended.type !== 'stored') release?.()
    if (appended.type === 'gone') throw taskNotFound(address.taskId)
    if (appended.type !== 'stored') continue // somebody was faster: look again
    const { generation, lease } = appended
    // Without the lease somebody is at work on this task, and hears of the message from the log.
    if (lease) {
      const message = { event: received, generation }
      runs.start({ task: head, generation, ...lease, phase: head.phase, message, onDone: release })
    } else wait(taskId, generation, house, release)
    return { task: head, generation }
  }
}

/** What is stored of a message. What must not be is kept aside, where its ticket finds it. */
function toMessageEvent(
  request: SendRequest,
  call: Call,
  { taskId, contextId }: NewTask,
  { settings: { agent, delegation, secretStore }, inBand = [], secret }: OperationContext,
): MessageEvent {
  const token = delegation?.tokenOf(call.principal)
  const isKept = token !== undefined || inBand.length > 0 || secret !== undefined
  const ticket = isKept ? secretStore.add({ token, inBand, parts: secret }) : undefined
  return {
    type: 'message',
    message: { ...request.message, taskId, contextId },
    principal: call.principal,
    metadata: request.metadata,
    acceptedOutputModes: request.configuration?.acceptedOutputModes,
    dialect: request.dialect,
    ...(call.extensions && { extensions: activeExtensions(agent.profile.extensions ?? [], call) }),
    ...(call.trace && { trace: call.trace }),
    ...(request.traceMetadata && { tellsTrace: true }),
    ...(ticket !== undefined && { ticket }),
    ...(secret && { sensitive: true }),
  }
}

async function orRelease<T>(storing: Promise<T>, release: () => void): Promise<T> {
  try {
    return await storing
  } catch (error) {
    release()
    throw error
  }
}

/** A message for a task at work. Its place is free again when it is taken up, here or in another process. */
function wait(taskId: string, generation: number, house: OperationContext, release: (() => void) | undefined): void {
  const run = house.runs.get(taskId)
  run?.sync()
  if (!release) return
  const { log, closing: signal, settings } = house
  if (run) run.onDequeued(generation, release)
  else void waitUntilDequeued({ taskId, generation, log, clock: settings.clock, signal }).then(release)
}

async function beginOrGoOn(
  alias: string,
  request: SendRequest,
  call: Call,
  house: OperationContext,
): Promise<AcceptedMessage> {
  const begun = await house.log.find(aliased(alias))
  if (begun) return await continueTask(aliased(alias), request, call, house)
  if (hasResults(request.message)) rejectResults(request)
  return await createTask(request, call, house)
}

function aliased(alias: string): TaskAddress {
  return { taskId: alias, isAlias: true }
}

async function createTask(request: SendRequest, call: Call, house: OperationContext): Promise<AcceptedMessage> {
  const { settings, runs, log } = house
  const { holder, leaseTtl, dedupeNewTasks, recovery } = settings
  if (settings.agent.check) await settings.agent.check(request)
  const contextId = request.message.contextId ?? newId()
  const task = { taskId: newId(), contextId, owner: log.owner }
  const received = toMessageEvent(request, call, task, house)
  // Who has named the task knows it as one; who wants an answer at once gets one, for there is no message yet.
  const isTask = request.alias !== undefined || request.configuration?.returnImmediately === true
  const events: TaskEvent[] = [received]
  if (recovery.isJournaled) events.push({ type: 'journal', entry: { type: 'attempt', message: 1, attempt: 1 } })
  if (isTask) events.push({ ...createAgentEvents(task, settings.clock.now).status('working'), implied: true })
  const isOnce = call.idempotencyKey !== undefined || dedupeNewTasks
  const claims = isOnce ? await claimsForNewTask(request, call, dedupeNewTasks) : claimsForAlias(request)

  const release = settings.acquireSlot ? await settings.acquireSlot('turns', request, call) : undefined
  const storing = log.create(task, events, { lease: { holder, ttl: leaseTtl }, claims })
  const created = await (release ? orRelease(storing, release) : storing)
  if (created.type === 'known') {
    release?.()
    // There is a task of this name, or this very message was sent before.
    const { alias } = request
    return created.claimed.digest === aliasDigest && alias !== undefined
      ? await continueTask(aliased(alias), request, call, house)
      : await acceptedMessageOf(log, created.claimed, claims[0]?.digest ?? '')
  }
  const { generation, lease } = created
  runs.start({
    task,
    generation,
    ...lease,
    phase: isTask ? 'working' : 'received',
    message: { event: received, generation: 1 },
    onDone: release,
  })
  return { task, generation: 1 }
}
