import { hasOpenCalls } from '../calls/results.ts'
import type { RecoverySettings } from '../options.ts'
import { type TaskFailure, unansweredFailure } from '../turns/input-timeout.ts'
import type { QueuedMessage } from '../turns/message-queue.ts'
import type { Journal } from './journal.ts'

/** A turn to be run. */
export interface PlannedTurn {
  readonly message: QueuedMessage
  readonly attempt: number
  /** What an earlier process has done of it already. */
  readonly journal?: Journal
  /** It is only gone through again to cancel what it has asked others for. */
  readonly isCanceled?: true
}

/** What is to be done with a task whose log an earlier process has written. */
export type ResumePlan =
  | ({ readonly type: 'begin' } & PlannedTurn)
  /** It waits for its caller. */
  | { readonly type: 'rest'; readonly wakeAt?: number }
  | { readonly type: 'cancel' }
  | { readonly type: 'fail'; readonly failure: TaskFailure }

export function planResume(
  journal: Journal | undefined,
  { policy, attempts }: RecoverySettings,
  { isOrphan, now }: { readonly isOrphan: boolean; readonly now: number },
): ResumePlan {
  // It was begun when its agent had no such policy.
  if (!journal) return { type: 'fail', failure: { text: processGone } }
  const { message, pause, attempt } = journal
  if (journal.isCanceled) {
    const isNeeded = policy === 'resume' && message && attempt > 0 && hasOpenCalls(journal)
    return isNeeded ? { type: 'begin', message, attempt, journal, isCanceled: true } : { type: 'cancel' }
  }
  if (pause) {
    const { expiresAt = Number.POSITIVE_INFINITY, since = expiresAt, onTimeout } = pause
    if (expiresAt > now) return { type: 'rest', wakeAt: pause.expiresAt }
    if (onTimeout !== 'continue' || !message) return { type: 'fail', failure: unansweredFailure({ since, expiresAt }) }
    return { type: 'begin', message, attempt: Math.max(attempt, 1), journal }
  }
  if (!message) return { type: 'rest' }
  const replay = policy === 'resume' && attempt > 0 ? journal : undefined
  if (!isOrphan) return { type: 'begin', message, attempt: Math.max(attempt, 1), journal: replay }
  const crashes =
    (policy === 'resume' ? journal.crashesSinceProgress : journal.crashes) + (journal.isHandedOver ? 0 : 1)
  if (attempt > 0 && crashes >= attempts) return { type: 'fail', failure: { text: givenUp(crashes) } }
  return { type: 'begin', message, attempt: attempt + 1, journal: replay }
}

export const processGone = 'The process that worked on this task stopped before it had finished. Please send it again.'

function givenUp(crashes: number): string {
  const times = crashes === 1 ? 'once' : `${crashes} times`
  return `The process that worked on this task stopped ${times} before it had finished, and no more attempts are made.`
}
