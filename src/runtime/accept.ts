import { createVoice } from '../agent/voice.ts'
import { A2AError, invalidParams, taskNotFound } from '../protocol/errors.ts'
import type { MessageEvent } from '../protocol/events.ts'
import type { Call, SendRequest } from '../protocol/service.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'
import type { NewTask } from '../tasks/log.ts'
import { claimedBefore, claimsOfNew, claimsWithin, isOpening, type Ticket, ticketOf } from './claims.ts'
import type { RuntimeSettings } from './options.ts'
import type { Runs } from './runs.ts'
import { type VisibleHead, visibleHead } from './visible.ts'

export interface Acceptance {
  readonly settings: RuntimeSettings
  readonly runs: Runs
}

/** Stores a message, at most once, and sees to it that somebody answers it. */
export async function accept(request: SendRequest, call: Call, house: Acceptance): Promise<Ticket> {
  if (request.configuration?.push) {
    throw new A2AError('push-not-supported', 'This agent sends no push notifications: stream or poll the task instead.')
  }
  const { taskId } = request.message
  return taskId === undefined ? await begin(request, call, house) : await goOn(taskId, request, call, house)
}

async function begin(request: SendRequest, call: Call, { settings, runs }: Acceptance): Promise<Ticket> {
  const { log, holder, leaseTtl, dedupeNewTasks } = settings
  const contextId = request.message.contextId ?? crypto.randomUUID()
  const task = { taskId: crypto.randomUUID(), contextId, owner: call.principal.id }
  const received = receive(request, call, task)
  // Who wants an answer at once gets a task: there can be no message yet.
  const isTask = request.configuration?.returnImmediately === true
  const events = isTask ? [received, createVoice(task).status('working')] : [received]
  const claims = await claimsOfNew(request, call, dedupeNewTasks)

  const created = await log.create(task, events, { lease: { holder, ttl: leaseTtl }, claims })
  if (created.type === 'known') return await ticketOf(log, created.claimed, claims[0]?.digest ?? '')
  const { generation, lease } = created
  runs.start({ task, generation, ...lease, phase: isTask ? 'working' : 'received', received, isFirst: true })
  return { task, generation: 1 }
}

async function goOn(taskId: string, request: SendRequest, call: Call, house: Acceptance): Promise<Ticket> {
  const { settings, runs } = house
  const { log, holder, leaseTtl } = settings
  const claims = await claimsWithin(taskId, request, call)
  for (;;) {
    const head = await visibleHead(log, taskId, call.principal)
    const { contextId = head.contextId } = request.message
    if (contextId !== head.contextId) {
      throw invalidParams('message.contextId', `task ${taskId} is of another context; leave it out, or send its own`)
    }
    const before = await claimedBefore(log, claims, call)
    if (before) return before
    if (await isOpening(log, head, request)) return { task: head, generation: 1 }
    requireRoom(head, house)

    const received = receive(request, call, head)
    const appended = await log.append(taskId, head.generation, [received], {
      lease: { holder, ttl: leaseTtl },
      claims,
    })
    if (appended.type === 'gone') throw taskNotFound(taskId)
    if (appended.type !== 'stored') continue // somebody was faster: look again
    const { generation, lease } = appended
    // Without the lease somebody is at work on this task, and hears of the message from the log.
    if (lease) runs.start({ task: head, generation, ...lease, phase: head.phase, received, isFirst: false })
    return { task: head, generation }
  }
}

/** Throws unless the task can take one more message. */
function requireRoom({ taskId, contextId, phase }: VisibleHead, { settings, runs }: Acceptance): void {
  const { whileBusy, queueLimit } = settings
  if (isEnded(phase)) {
    const text = `Task ${taskId} is ${phase} and takes no more messages: begin a new one in context ${contextId}.`
    throw new A2AError('task-ended', text)
  }
  if (whileBusy === 'reject' && !isInterrupted(phase)) {
    throw new A2AError('conflict', `Task ${taskId} still works on an earlier message: send this one when it rests.`)
  }
  if ((runs.get(taskId)?.waiting ?? 0) >= queueLimit) {
    const text = `Task ${taskId} has ${queueLimit} messages waiting: send this one later.`
    throw new A2AError('unavailable', text, { retryAfter: 5 })
  }
}

function receive(request: SendRequest, call: Call, { taskId, contextId }: NewTask): MessageEvent {
  return {
    type: 'message',
    message: { ...request.message, taskId, contextId },
    principal: call.principal,
    metadata: request.metadata,
    acceptedOutputModes: request.configuration?.acceptedOutputModes,
  }
}
