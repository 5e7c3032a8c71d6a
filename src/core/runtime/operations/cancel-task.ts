import { createAgentEvents } from '../../agent/content.ts'
import { linkSignals } from '../../base/abort.ts'
import { A2AError, loggedError, taskNotFound } from '../../protocol/errors.ts'
import type { Task } from '../../protocol/model.ts'
import type { Call, CancelTaskRequest } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import { follow } from '../../tasks/follow.ts'
import type { NewTask, TaskHead } from '../../tasks/log.ts'
import type { OperationContext } from '../caller-log.ts'
import { hasOpenCalls } from '../calls/call-steps.ts'
import { readJournal } from '../recovery/journal.ts'
import { endTask } from '../recovery/orphans.ts'
import { getTask } from './read-tasks.ts'

/** Milliseconds to wait for the end of a task beyond the agent's grace period. */
const extraWait = 2_000

/**
 * Stores the cancellation. The run of the task stops it, here or in another process; without a run, it ends here. If
 * another cancellation ends the task first, both callers get the canceled task.
 */
export async function cancelTask(request: CancelTaskRequest, call: Call, context: OperationContext): Promise<Task> {
  const arrived = context.settings.clock.now()
  for (let wasOpen = false; ; wasOpen = true) {
    const head = await context.log.task(request)
    if (isEnded(head.phase)) {
      wasOpen ||= head.changed > arrived
      if (wasOpen && head.phase === 'canceled') return await getTask(request, context.log)
      throw new A2AError(
        'task-not-cancelable',
        `Task ${request.taskId} is ${head.phase} already and cannot be canceled.`,
      )
    }
    const stored = await storeCancellation(head, context)
    if (stored === 'gone') throw taskNotFound(request.taskId)
    if (stored === 'behind') continue // the log has changed: read it again
    if (!stored.isEnded) await waitForEnd(head, stored.generation, call, context)
    return await getTask(request, context.log)
  }
}

/** Cancels a task whose caller has disconnected. It may not be a task yet, or have ended. */
export async function cancelAbandoned({ taskId, contextId }: NewTask, context: OperationContext): Promise<void> {
  try {
    for (;;) {
      const head = await context.log.head(taskId)
      if (!head || head.phase === 'expired' || isEnded(head.phase)) return
      if ((await storeCancellation(head, context)) !== 'behind') return
    }
  } catch (error) {
    context.settings.logger.error(
      { taskId, contextId, error: loggedError(error) },
      'a task could not be canceled although its caller has gone',
    )
  }
}

type StoredCancellation = 'gone' | 'behind' | { readonly generation: number; readonly isEnded: boolean }

async function storeCancellation(head: TaskHead, context: OperationContext): Promise<StoredCancellation> {
  const { settings, runs, log } = context
  const { taskId, phase } = head
  const request = { holder: settings.holder, ttl: settings.leaseTtl }
  const appended = await log.append(taskId, head.generation, [{ type: 'cancel' }], { lease: request })
  if (appended.type === 'gone') return 'gone'
  if (appended.type !== 'stored') return 'behind'
  const { generation, lease } = appended
  if (lease && phase !== 'expired' && (await hasCallsToCancel(taskId, generation, context))) {
    // Replaying the turn cancels its calls to other agents.
    runs.start({ task: head, generation, ...lease, phase })
    return { generation, isEnded: false }
  }
  if (lease) {
    const canceled = createAgentEvents(head, settings.clock.now).status('canceled')
    const isEnded = await endTask({ ...head, generation }, lease, log, () => canceled)
    if (isEnded) return { generation, isEnded }
  }
  runs.get(taskId)?.sync()
  return { generation, isEnded: false }
}

async function hasCallsToCancel(taskId: string, until: number, { settings, log }: OperationContext): Promise<boolean> {
  if (settings.recovery.policy !== 'resume') return false
  const journal = await readJournal(log, taskId, until)
  return journal !== undefined && hasOpenCalls(journal)
}

/** Waits until the task has ended, but not longer than the grace period and `extraWait`. */
async function waitForEnd({ taskId }: TaskHead, after: number, call: Call, context: OperationContext): Promise<void> {
  const { settings, log } = context
  const { signal, release } = linkSignals([call.signal], settings.cancelGrace + extraWait, settings.clock)
  try {
    for await (const { event } of follow(log, taskId, after, signal)) {
      if (event.type === 'status' && isEnded(event.status.state)) return
    }
  } finally {
    release()
  }
}
