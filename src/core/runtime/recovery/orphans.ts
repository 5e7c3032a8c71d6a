import { createAgentEvents } from '../../agent/content.ts'
import type { StatusEvent } from '../../protocol/events.ts'
import { withFirstStatus } from '../../protocol/states.ts'
import type { Lease, TaskHead, TaskLog } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import type { Runs } from '../turns/leased-runs.ts'
import { readUnfinished } from './paused-tasks.ts'
import { processGone } from './resume.ts'

export interface RecoveryContext {
  readonly settings: Pick<RuntimeSettings, 'recovery' | 'clock' | 'logger' | 'telemetry'>
  readonly runs: Pick<Runs, 'start' | 'get'>
  readonly log: Pick<TaskLog, 'append' | 'head' | 'read' | 'release'>
}

/**
 * Applies the agent's recovery policy to a task whose process is gone and whose lease this process has taken. `onDone` is
 * called when the run of the task is over, or at once if there is none.
 */
export async function recoverOrphan(
  orphan: TaskHead,
  lease: Lease,
  context: RecoveryContext,
  onDone?: () => void,
): Promise<void> {
  const { settings, runs } = context
  const { generation, phase } = orphan
  settings.telemetry?.record?.({ type: 'lease', what: 'recovered' })
  if (settings.recovery.isJournaled && phase !== 'expired') {
    runs.start({ task: orphan, generation, phase, ...lease, onDone })
    return
  }
  let isStarted = false
  try {
    isStarted = await continueOrEnd(orphan, lease, context, onDone)
  } finally {
    if (!isStarted) onDone?.()
  }
}

/** Ends a task without a journal, unless it was only paused. Returns whether a run has started. */
async function continueOrEnd(
  orphan: TaskHead,
  lease: Lease,
  { settings, runs, log }: RecoveryContext,
  onDone: (() => void) | undefined,
): Promise<boolean> {
  const { taskId, contextId } = orphan
  const { fence } = lease
  let isCanceled = false
  for (;;) {
    const { pause, ...unfinished } = await readUnfinished(log, taskId, fence - 1)
    isCanceled = unfinished.isCanceled
    if (!pause || isCanceled) break
    const { message, generation, phase } = pause
    if (message) {
      runs.start({ task: orphan, generation, phase, fence, message, onDone })
      if (generation < unfinished.generation) runs.get(taskId)?.sync()
      return true
    }
    if (await log.release(taskId, fence, generation)) return false
  }
  const agentEvents = createAgentEvents(orphan, settings.clock.now)
  await endTask(orphan, lease, log, async (after, until) => {
    // The events up to the first call were read before.
    isCanceled ||= after > 0 && (await hasCancellation(taskId, after, until, log))
    return isCanceled ? agentEvents.status('canceled') : agentEvents.status('failed', processGone)
  })
  const end = isCanceled ? 'canceled' : 'failed'
  settings.logger.warn({ taskId, contextId }, `a task was ${end} because its process is gone`)
  return false
}

/**
 * Ends a task that no run works on, given its lease. Messages and cancellations that callers store meanwhile do not
 * prevent that. Returns false if another process has taken the lease.
 */
export async function endTask(
  task: TaskHead,
  { fence }: Lease,
  log: Pick<TaskLog, 'append' | 'head'>,
  /** Chooses the final status, given the generations that were stored since the last call. */
  statusAfter: (after: number, until: number) => StatusEvent | Promise<StatusEvent>,
): Promise<boolean> {
  const { taskId, phase } = task
  for (let before = 0, last = task.generation, head: TaskHead | undefined = task; ; ) {
    const status = createAgentEvents(head ?? task).next(await statusAfter(before, last))
    const appended = await log.append(taskId, last, withFirstStatus(status, phase), { fence })
    if (appended.type !== 'behind') return appended.type === 'stored'
    before = last
    last = appended.generation
    head = await log.head(taskId)
  }
}

async function hasCancellation(
  taskId: string,
  after: number,
  until: number,
  log: Pick<TaskLog, 'read'>,
): Promise<boolean> {
  for (let seen = after; seen < until; ) {
    const page = await log.read(taskId, seen)
    const last = page.at(-1)
    if (!last) return false
    if (page.some(({ event }) => event.type === 'cancel')) return true
    seen = last.generation
  }
  return false
}
