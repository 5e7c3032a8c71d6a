import { hasOpenCalls } from './calls/open-calls.ts'
import type { Letter } from './inbox.ts'
import type { Journal } from './journal.ts'
import type { RecoverySettings } from './recovery.ts'

/** A turn to be run. */
export interface Beginning {
  readonly letter: Letter
  readonly attempt: number
  /** What an earlier process has done of it already. */
  readonly replay?: Journal
  /** It is only gone through again to cancel what it has asked others for. */
  readonly isCanceled?: true
}

/** What is to be done with a task whose log an earlier process has written. */
export type PickUp =
  | ({ readonly type: 'begin' } & Beginning)
  /** It waits for its caller. */
  | { readonly type: 'rest'; readonly wakeAt?: number }
  | { readonly type: 'cancel' }
  | { readonly type: 'fail'; readonly reason: string }

export const processGone = 'The process that worked on this task stopped before it had finished. Please send it again.'

export function pickUp(
  journal: Journal | undefined,
  { policy, attempts }: RecoverySettings,
  { isOrphan, now }: { readonly isOrphan: boolean; readonly now: number },
): PickUp {
  // It was begun when its agent had no such policy.
  if (!journal) return { type: 'fail', reason: processGone }
  const { letter, pause, attempt } = journal
  if (journal.isCanceled) {
    const isNeeded = policy === 'resume' && letter && attempt > 0 && hasOpenCalls(journal)
    return isNeeded ? { type: 'begin', letter, attempt, replay: journal, isCanceled: true } : { type: 'cancel' }
  }
  if (pause) {
    const { expiresAt = Number.POSITIVE_INFINITY } = pause
    return expiresAt <= now
      ? { type: 'fail', reason: unanswered(expiresAt) }
      : { type: 'rest', wakeAt: pause.expiresAt }
  }
  if (!letter) return { type: 'rest' }
  const replay = policy === 'resume' && attempt > 0 ? journal : undefined
  if (!isOrphan) return { type: 'begin', letter, attempt: Math.max(attempt, 1), replay }
  const crashes = (policy === 'resume' ? journal.futile : journal.crashes) + (journal.isHandedOver ? 0 : 1)
  if (attempt > 0 && crashes >= attempts) return { type: 'fail', reason: givenUp(crashes) }
  return { type: 'begin', letter, attempt: attempt + 1, replay }
}

export function unanswered(expiresAt: number): string {
  return `The question was not answered by ${new Date(expiresAt).toISOString()}, so the task ends here.`
}

function givenUp(crashes: number): string {
  const times = crashes === 1 ? 'once' : `${crashes} times`
  return `The process that worked on this task stopped ${times} before it had finished, and no more attempts are made.`
}
