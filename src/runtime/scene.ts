import type { Mouth } from '../agent/speech.ts'
import type { Voice } from '../agent/voice.ts'
import type { MessageEvent, StatusEvent } from '../protocol/events.ts'
import type { Lineage } from '../protocol/lineage.ts'
import type { Json } from '../protocol/model.ts'
import type { Trace } from '../protocol/trace.ts'
import type { NewTask } from '../tasks/log.ts'
import type { Inbox } from './inbox.ts'
import type { RuntimeSettings } from './options.ts'
import type { TurnSecrets } from './scrub.ts'
import type { StageWaiting } from './stage.ts'
import type { Stop } from './stop.ts'

/** A turn as those see it who do larger things in its name: ask other agents, wait for credentials. */
export interface Scene {
  readonly task: NewTask
  readonly received: MessageEvent
  readonly lineage: Lineage
  readonly trace: Trace | undefined
  readonly voice: Voice
  readonly stop: Stop
  readonly inbox: Inbox
  readonly secrets: TurnSecrets
  readonly settings: RuntimeSettings
  readonly emit: Mouth['emit']
  readonly step: (name: string, work: (within: Mouth) => unknown) => Promise<Json | undefined>
  readonly ask: (question: StatusEvent, waiting?: Omit<StageWaiting, 'again'>) => Promise<MessageEvent>
  /** The caller is asked, and has not answered. */
  readonly isAsking: () => boolean
  /** What was said and done before is gone through again, and there is more of it. */
  readonly isReplaying: () => boolean
  /** From now on it waits for its caller, which may take long. */
  readonly waits: () => void
  /** The task does not wait for its caller any more. */
  readonly goOn: () => void
  /** A message was given to the turn. */
  readonly heard: (message: MessageEvent) => void
}

/** What a step gives is stored as JSON, and of the same type when it comes back. */
export async function stepIn<T>(scene: Scene, name: string, work: (within: Mouth) => Promise<T>): Promise<T> {
  return (await scene.step(name, work)) as T
}
