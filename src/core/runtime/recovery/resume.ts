import type { JournalEntry } from '../../protocol/events.ts'
import { hasOpenCalls } from '../calls/call-steps.ts'
import type { RecoverySettings } from '../options.ts'
import { type TaskFailure, unansweredFailure } from '../turns/failures.ts'
import type { QueuedMessage } from '../turns/message-queue.ts'
import type { Journal } from './journal.ts'

export const processGone = 'The process that worked on this task stopped before it had finished. Please send it again.'

/** A turn to run. */
export interface PlannedTurn {
  readonly message: QueuedMessage
  readonly attempt: number
  /** What an earlier attempt did. The turn is resumed from it. */
  readonly journal?: Journal
  /** The task is canceled. The turn is replayed only to cancel its open calls to other agents. */
  readonly isCanceled?: true
}

/** The journal entry of a turn that starts. */
export function attemptEntry({ message, attempt }: PlannedTurn): JournalEntry {
  return { type: 'attempt', message: message.generation, attempt }
}

/** What to do with a task that another run has left. */
export type ResumePlan =
  | ({ readonly type: 'run' } & PlannedTurn)
  /** The task waits for its caller. */
  | { readonly type: 'wait'; readonly wakeAt?: number }
  | { readonly type: 'cancel' }
  | { readonly type: 'fail'; readonly failure: TaskFailure }

/** Decides how a task continues that was interrupted, paused or left with unanswered messages. */
export function planResume(
  journal: Journal | undefined,
  { policy, attempts }: RecoverySettings,
  { isOrphan, now }: { readonly isOrphan: boolean; readonly now: number },
): ResumePlan {
  // The task was created before its agent had a recovery policy.
  if (!journal) return { type: 'fail', failure: { text: processGone } }
  const { message, pause, attempt } = journal
  if (journal.isCanceled) {
    const isReplayed = policy === 'resume' && message && attempt > 0 && hasOpenCalls(journal)
    return isReplayed ? { type: 'run', message, attempt, journal, isCanceled: true } : { type: 'cancel' }
  }
  if (pause) {
    const { expiresAt = Number.POSITIVE_INFINITY, since = expiresAt, onTimeout } = pause
    if (expiresAt > now) return { type: 'wait', wakeAt: pause.expiresAt }
    if (onTimeout !== 'continue' || !message) return { type: 'fail', failure: unansweredFailure({ since, expiresAt }) }
    return { type: 'run', message, attempt: Math.max(attempt, 1), journal }
  }
  if (!message) return { type: 'wait' }
  const replayed = policy === 'resume' && attempt > 0 ? journal : undefined
  if (!isOrphan) return { type: 'run', message, attempt: Math.max(attempt, 1), journal: replayed }
  const earlierCrashes = policy === 'resume' ? journal.crashesSinceProgress : journal.crashes
  const crashes = earlierCrashes + (journal.isHandedOver ? 0 : 1)
  if (attempt > 0 && crashes >= attempts) return { type: 'fail', failure: { text: noMoreAttempts(crashes) } }
  return { type: 'run', message, attempt: attempt + 1, journal: replayed }
}

function noMoreAttempts(crashes: number): string {
  const times = crashes === 1 ? 'once' : `${crashes} times`
  return `The process that worked on this task stopped ${times} before it had finished, and no more attempts are made.`
}
