import { delayAfter } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Call, SendRequest, Service } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'

export interface PollOptions {
  /** Milliseconds between the first two polls; the delay doubles up to `maxDelay`. */
  readonly minDelay: number
  readonly maxDelay: number
}

export interface PollSettings extends PollOptions {
  readonly clock: Clock
}

export interface SendAndPollSettings extends PollSettings {
  /** The agent has accepted the message, which it may have rejected as a stream. */
  readonly onAnswer: () => void
  /** From now on, each event is the task at the time of a poll. */
  readonly onPoll: () => void
}

/** Streams from an agent that does not stream: sends without waiting, and then polls the task. */
export async function* sendAndPoll(
  service: Service,
  request: SendRequest,
  call: Call,
  settings: SendAndPollSettings,
): AsyncGenerator<StreamEvent> {
  const configuration = { ...request.configuration, returnImmediately: true }
  const outcome = await service.sendMessage({ ...request, configuration }, call)
  settings.onAnswer()
  if (outcome.type === 'message') return yield { ...outcome, isLast: true }
  const { id, status } = outcome.task
  yield { ...outcome, isLast: isEnded(status.state) }
  if (isEnded(status.state) || status.state === 'input-required') return
  settings.onPoll()
  await sleep(settings.minDelay, call.signal, settings.clock)
  yield* poll(service, id, call, settings)
}

/** Gets the task repeatedly until it has ended or needs input. An agent that counts changes answers at the next one. */
export async function* poll(
  service: Service,
  taskId: string,
  call: Call,
  settings: PollSettings,
): AsyncGenerator<StreamEvent> {
  let afterRevision: number | undefined
  for (let polls = 1; !call.signal.aborted; polls++) {
    const task = await service.getTask({ taskId, afterRevision }, call)
    const { state } = task.status
    yield { type: 'task', task, isLast: isEnded(state) }
    if (isEnded(state) || state === 'input-required') return
    const isNew = task.revision !== afterRevision
    afterRevision = task.revision
    if (!isNew || !afterRevision) await sleep(delayAfter(polls, settings), call.signal, settings.clock)
  }
}
