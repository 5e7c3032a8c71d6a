import { setTimeout as delay } from 'node:timers/promises'
import { defined } from '../core/base/json.ts'
import type { Task } from '../entries/client.ts'
import type { AgentConnection } from './agent.ts'
import type { Context } from './command.ts'
import { isSettled, stateName } from './render.ts'

/** The longest time between two polls, as a multiple of the interval. */
const maxBackoff = 8

export function pollInterval({ settings }: Context): number {
  return Math.max(50, settings.duration('poll-interval') ?? 2_000)
}

/** Polls the task until it has ended or needs the caller. The interval grows while the state does not change. */
export async function pollTask(
  context: Context,
  { client, call }: AgentConnection,
  first: Task,
  historyLength?: number,
): Promise<Task> {
  const { output, signal } = context
  const interval = pollInterval(context)
  const done = output.progress(`Waiting for the task ${first.id}…`)
  try {
    let task = first
    for (let pause = interval; !isSettled(task); ) {
      await delay(pause, undefined, { signal })
      const next = await client.task(first.id).get({ ...call, ...defined({ historyLength }) })
      const hasChanged = stateName(next) !== stateName(task) || next.status.timestamp !== task.status.timestamp
      if (hasChanged) output.detail(`${next.id}: ${stateName(next)}`)
      pause = hasChanged ? interval : Math.min(pause * 1.5, interval * maxBackoff)
      task = next
    }
    return task
  } finally {
    done()
  }
}
