import { toJson } from '../agent/json-value.ts'
import type { Clock } from '../protocol/clock.ts'
import type { MessageEvent, StatusEvent } from '../protocol/events.ts'
import { isInterrupted } from '../protocol/states.ts'
import { setAlarm } from './alarm.ts'
import type { Inbox } from './inbox.ts'
import { linkSignals } from './linked-signal.ts'
import { unanswered } from './pick-up.ts'
import type { Stage } from './stage.ts'
import type { Stop } from './stop.ts'
import type { Writer } from './writer.ts'

export interface PlainStageOptions {
  readonly writer: Writer
  readonly inbox: Inbox
  readonly stop: Stop
  readonly clock: Clock
  readonly tellWorking: () => void
}

/** A turn that lives in this process from its beginning to its end. */
export function createPlainStage({ writer, inbox, stop, clock, tellWorking }: PlainStageOptions): Stage {
  let failure: string | undefined
  /** One question at a time, also of those who ask side by side. */
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return {
    emit: writer.emit,
    step: async (name, work) => toJson(await work(), `What the step "${name}" returns`),
    ask(question, expiresAt, signal) {
      const asking =
        waiting === 0 ? askNow(question, expiresAt, signal) : last.then(() => askNow(question, expiresAt, signal))
      waiting++
      const answer = asking.finally(() => waiting--)
      last = answer.catch(() => {})
      return answer
    },
    isReplaying: () => false,
    close() {},
    failure: () => failure,
    pause: () => undefined,
  }

  async function askNow(question: StatusEvent, expiresAt?: number, signal?: AbortSignal): Promise<MessageEvent> {
    signal?.throwIfAborted()
    await writer.emit(question)
    const expire = () => {
      failure = unanswered(expiresAt ?? 0)
      stop.stop('unanswered')
    }
    const release = expiresAt === undefined ? undefined : setAlarm(clock, expiresAt, expire)
    const linked = signal && linkSignals([stop.signal, signal])
    try {
      const next = await inbox.next(linked?.signal ?? stop.signal)
      if (isInterrupted(writer.phase)) tellWorking()
      return next.received
    } finally {
      release?.()
      linked?.release()
    }
  }
}
