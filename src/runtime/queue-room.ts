import { A2AError } from '../protocol/errors.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'
import type { Acceptance } from './acceptance.ts'
import type { CallerLog, VisibleHead } from './caller-log.ts'

/** Throws unless the task can take one more message. Told by the name that its caller knows. */
export async function requireRoom(head: VisibleHead, name: string, { settings, runs, log }: Acceptance): Promise<void> {
  const { taskId, contextId, phase } = head
  const { whileBusy, queueLimit, whenFull } = settings
  if (isEnded(phase)) {
    const text = `Task ${name} is ${phase} and takes no more messages: begin a new one in context ${contextId}.`
    throw new A2AError('task-ended', text)
  }
  if (whileBusy === 'reject' && !isInterrupted(phase)) {
    throw new A2AError('conflict', `Task ${name} still works on an earlier message: send this one when it rests.`)
  }
  if (whenFull === 'fail') return // Whoever works on it sees to that.
  const run = runs.get(taskId)
  const isFull = run ? run.waiting >= queueLimit : await isFullElsewhere(head, queueLimit, log)
  if (isFull) {
    const text = `Task ${name} has ${queueLimit} messages waiting: send this one later.`
    throw new A2AError('unavailable', text, { retryAfter: 5 })
  }
}

/** A task at work in another process has so many messages waiting at least if nothing else was stored since. */
async function isFullElsewhere({ taskId, generation }: VisibleHead, limit: number, log: CallerLog): Promise<boolean> {
  if (generation <= limit) return false
  let waiting = 0
  for (let after = generation - limit; after < generation; ) {
    const page = await log.read(taskId, after)
    const last = page.at(-1)
    if (!last || page.some(({ event }) => event.type !== 'message')) return false
    waiting += page.length
    after = last.generation
  }
  return waiting >= limit
}
