import { delayAfter } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Call, SendRequest, Service } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'

export interface PollOptions {
  /** Milliseconds between two looks, at first and at last. */
  readonly minDelay: number
  readonly maxDelay: number
}

/** With what it waits for. */
export interface Looking extends PollOptions {
  readonly clock: Clock
}

export interface SendAndPollOptions extends Looking {
  /** The agent takes by a send what it may have refused as a stream. */
  readonly onAnswer: () => void
  /** From now on the task is told as it is, again and again. */
  readonly onPoll: () => void
}

/** For agents that do not stream: sends, does not wait, and looks. */
export async function* sendAndPoll(
  service: Service,
  request: SendRequest,
  call: Call,
  options: SendAndPollOptions,
): AsyncGenerator<StreamEvent> {
  const configuration = { ...request.configuration, returnImmediately: true }
  const outcome = await service.sendMessage({ ...request, configuration }, call)
  options.onAnswer()
  if (outcome.type === 'message') return yield { ...outcome, isLast: true }
  const { id, status } = outcome.task
  yield { ...outcome, isLast: isEnded(status.state) }
  if (isEnded(status.state) || status.state === 'input-required') return
  options.onPoll()
  await sleep(options.minDelay, call.signal, options.clock)
  yield* poll(service, id, call, options)
}

/** The task again and again, until it rests. */
export async function* poll(
  service: Service,
  taskId: string,
  call: Call,
  options: Looking,
): AsyncGenerator<StreamEvent> {
  for (let looks = 1; !call.signal.aborted; looks++) {
    const task = await service.getTask({ taskId }, call)
    const { state } = task.status
    yield { type: 'task', task, isLast: isEnded(state) }
    if (isEnded(state) || state === 'input-required') return
    await sleep(delayAfter(looks, options), call.signal, options.clock)
  }
}
