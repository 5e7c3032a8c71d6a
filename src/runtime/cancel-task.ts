import { createVoice } from '../agent/voice.ts'
import { A2AError, taskNotFound } from '../protocol/errors.ts'
import type { Task } from '../protocol/model.ts'
import type { Call, CancelTaskRequest } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import { follow } from '../tasks/follow.ts'
import type { TaskHead } from '../tasks/log.ts'
import type { Acceptance } from './accept.ts'
import { getTask } from './get-task.ts'
import { linkSignals } from './linked-signal.ts'

/** Over the grace period that an agent has, so that the caller sees the end of it. */
const patience = 2_000

/** Stores the wish. Whoever is at work on the task, here or elsewhere, stops it; nobody at work, we end it ourselves. */
export async function cancelTask(request: CancelTaskRequest, call: Call, house: Acceptance): Promise<Task> {
  const { settings, runs, log } = house
  const { holder, leaseTtl } = settings
  for (;;) {
    const head = await log.task(request)
    const { taskId } = head
    if (isEnded(head.phase)) {
      throw new A2AError(
        'task-not-cancelable',
        `Task ${request.taskId} is ${head.phase} already and cannot be canceled.`,
      )
    }
    const wish = [{ type: 'cancel' }] as const
    const appended = await log.append(taskId, head.generation, wish, { lease: { holder, ttl: leaseTtl } })
    if (appended.type === 'gone') throw taskNotFound(request.taskId)
    if (appended.type !== 'stored') continue // somebody was faster: look again
    const { generation, lease } = appended
    if (lease) await log.append(taskId, generation, [createVoice(head, settings.clock.now).status('canceled')], lease)
    else {
      runs.get(taskId)?.nudge()
      await ended(head, generation, call, house)
    }
    return await getTask(request, log)
  }
}

/** Waits for the end of a task, for a while. */
async function ended({ taskId }: TaskHead, after: number, call: Call, house: Acceptance): Promise<void> {
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
