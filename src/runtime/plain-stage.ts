import { toJson } from '../agent/json-value.ts'
import type { Clock } from '../protocol/clock.ts'
import { setAlarm } from './alarm.ts'
import type { Inbox } from './inbox.ts'
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
  return {
    emit: writer.emit,
    step: async (name, work) => toJson(await work(), `What the step "${name}" returns`),
    async ask(question, expiresAt) {
      await writer.emit(question)
      const expire = () => {
        failure = unanswered(expiresAt ?? 0)
        stop.stop('unanswered')
      }
      const release = expiresAt === undefined ? undefined : setAlarm(clock, expiresAt, expire)
      try {
        const next = await inbox.next(stop.signal)
        if (writer.phase === 'input-required') tellWorking()
        return next.received
      } finally {
        release?.()
      }
    },
    close() {},
    failure: () => failure,
    pause: () => undefined,
  }
}
