import { createAgentEvents } from '../../agent/turn-output.ts'
import { linkSignals } from '../../base/abort.ts'
import { A2AError, taskNotFound } from '../../protocol/errors.ts'
import type { Task } from '../../protocol/model.ts'
import type { Call, CancelTaskRequest } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import { follow } from '../../tasks/follow.ts'
import type { NewTask, TaskHead } from '../../tasks/log.ts'
import { hasOpenCalls } from '../calls/call-steps.ts'
import { readJournal } from '../recovery/journal.ts'
import type { OperationContext } from './context.ts'
import { getTask } from './read-tasks.ts'

/** Over the grace period that an agent has, so that the caller sees the end of it. */
const patience = 2_000

/** Stores the wish. Whoever is at work on the task, here or elsewhere, stops it; nobody at work, we end it ourselves. */
export async function cancelTask(request: CancelTaskRequest, call: Call, house: OperationContext): Promise<Task> {
  for (;;) {
    const head = await house.log.task(request)
    if (isEnded(head.phase)) {
      throw new A2AError(
        'task-not-cancelable',
        `Task ${request.taskId} is ${head.phase} already and cannot be canceled.`,
      )
    }
    const wished = await wish(head, house)
    if (wished === 'gone') throw taskNotFound(request.taskId)
    if (wished === 'behind') continue // somebody was faster: look again
    if (!wished.isEnded) await ended(head, wished.generation, call, house)
    return await getTask(request, house.log)
  }
}

/** The same for one whose caller has gone, and wanted it to go along: it need be no task yet, and may be over. */
export async function cancelAbandoned({ taskId, contextId }: NewTask, house: OperationContext): Promise<void> {
  try {
    for (;;) {
      const head = await house.log.head(taskId)
      if (!head || head.phase === 'expired' || isEnded(head.phase)) return
      if ((await wish(head, house)) !== 'behind') return
    }
  } catch (error) {
    house.settings.logger.error(
      { taskId, contextId, error },
      'a task could not be canceled although its caller has gone',
    )
  }
}

async function wish(head: TaskHead, house: OperationContext): Promise<Wished> {
  const { settings, runs, log } = house
  const { taskId, phase } = head
  const lease = { holder: settings.holder, ttl: settings.leaseTtl }
  const appended = await log.append(taskId, head.generation, [{ type: 'cancel' }], { lease })
  if (appended.type === 'gone') return 'gone'
  if (appended.type !== 'stored') return 'behind'
  const { generation, lease: own } = appended
  if (own && phase !== 'expired' && (await asksOthers(taskId, generation, house))) {
    // Its code knows whom it has asked.
    runs.start({ task: head, generation, ...own, phase })
    return { generation, isEnded: false }
  }
  if (own) await log.append(taskId, generation, [createAgentEvents(head, settings.clock.now).status('canceled')], own)
  else runs.get(taskId)?.sync()
  return { generation, isEnded: own !== undefined }
}

type Wished = 'gone' | 'behind' | { readonly generation: number; readonly isEnded: boolean }

async function asksOthers(taskId: string, until: number, { settings, log }: OperationContext): Promise<boolean> {
  if (settings.recovery.policy !== 'resume') return false
  const journal = await readJournal(log, taskId, until)
  return journal !== undefined && hasOpenCalls(journal)
}

/** Waits for the end of a task, for a while. */
async function ended({ taskId }: TaskHead, after: number, call: Call, house: OperationContext): Promise<void> {
  const { settings, log } = house
  const { signal, release } = linkSignals([call.signal], settings.cancelGrace + patience, settings.clock)
  try {
    for await (const { event } of follow(log, taskId, after, signal)) {
      if (event.type === 'status' && isEnded(event.status.state)) return
    }
  } finally {
    release()
  }
}
