import type { TaskLog } from '../../src/core/tasks/log.ts'
import { describeEvent, type History } from './history.ts'
import type { Process, World } from './world.ts'

export interface StoreOptions {
  readonly world: World
  readonly history: History
  readonly process: Process
  readonly log: TaskLog
  /** Called before every call, for storage with a clock of its own. */
  readonly beforeCall?: (() => Promise<unknown> | undefined) | undefined
}

/** Readers that wait for events of a task. */
export interface Waiters {
  readonly waiting: Set<{ readonly taskId: string; readonly process: Process; readonly wake: () => void }>
}

/**
 * The log as one process sees it. Every call is two steps: the request arrives at the store and takes effect, and the
 * answer arrives at the process. Between them the process may freeze or die, and other calls may take effect.
 */
export function connectStore({ world, history, process, log, beforeCall }: StoreOptions, waiters: Waiters): TaskLog {
  const { call, notify, nameOf } = createRequests({ world, history, process, beforeCall }, waiters)

  return {
    create: (task, events, options) =>
      call(
        () => `create ${events.map(describeEvent)}`,
        () => log.create(task, events, options),
        (result) => {
          history.created(process, task, events, result)
          notify(task.taskId)
        },
      ),
    append: (taskId, after, events, options) =>
      call(
        () =>
          `append ${after + 1}: ${events.map(describeEvent)} to ${nameOf(taskId)}${options.fence === undefined ? '' : ` with fence ${options.fence}`}`,
        () => log.append(taskId, after, events, options),
        (result) => {
          history.appended(process, taskId, events, options, result)
          if (result.type === 'stored') notify(taskId)
        },
      ),
    acquire: (taskId, lease) =>
      call(
        () => `acquire ${nameOf(taskId)}`,
        () => log.acquire(taskId, lease),
        (result) => history.acquired(process, taskId, result),
      ),
    head: (taskId, scope) =>
      call(
        () => `head of ${nameOf(taskId)}`,
        () => log.head(taskId, scope),
      ),
    read: (taskId, after) =>
      call(
        () => `read ${nameOf(taskId)} after ${after}`,
        () => log.read(taskId, after),
      ),
    async wait(taskId, after, signal) {
      const task = history.tasks.get(taskId)
      if (process.state === 'dead') throw new Error(`${process.name} is dead`)
      if (signal.aborted || (task && task.events.length > after)) return
      await new Promise<void>((resolve) => {
        const leave = () => {
          waiters.waiting.delete(waiter)
          process.onDeath.delete(leave)
          resolve()
        }
        const waiter = { taskId, process, wake: leave }
        waiters.waiting.add(waiter)
        process.onDeath.add(leave)
        signal.addEventListener('abort', leave)
      })
    },
    snapshot: (taskId) =>
      call(
        () => `snapshot of ${nameOf(taskId)}`,
        () => log.snapshot(taskId),
      ),
    keepSnapshot: (snapshot) =>
      call(
        () => `keep snapshot of ${nameOf(snapshot.taskId)}`,
        () => log.keepSnapshot(snapshot),
      ),
    list: (query) =>
      call(
        () => `list`,
        () => log.list(query),
      ),
    claimed: (owner, key) =>
      call(
        () => `claim`,
        () => log.claimed(owner, key),
      ),
    renew: (leases, ttl) =>
      call(
        () => `renew ${leases.map(({ taskId, fence }) => `${nameOf(taskId)} (${fence})`)}`,
        () => log.renew(leases, ttl),
      ),
    release: (taskId, fence, after, wakeAt) =>
      call(
        () => `release ${nameOf(taskId)} (${fence}) at ${after}`,
        () => log.release(taskId, fence, after, wakeAt),
      ),
    orphans: (limit, ttl) =>
      call(
        () => `orphans`,
        () => log.orphans(limit, ttl),
      ),
    expire: (endedBefore, limit, phases) =>
      call(
        () => `expire`,
        () => log.expire(endedBefore, limit, phases),
      ),
    forget: (endedBefore, limit) =>
      call(
        () => `forget`,
        () => log.forget(endedBefore, limit),
      ),
    erase: (selection, limit) =>
      call(
        () => `erase`,
        () => log.erase(selection, limit),
      ),
    close: async () => {},
  }
}

/** Sends calls to the store as steps of the world, and wakes readers when a task has changed. */
function createRequests({ world, history, process, beforeCall }: Omit<StoreOptions, 'log'>, waiters: Waiters) {
  function call<T>(label: () => string, effect: () => Promise<T>, record?: (result: T) => void): Promise<T> {
    if (process.state === 'dead') return Promise.reject(new Error(`${process.name} is dead`))
    return new Promise((resolve, reject) => {
      const die = () => reject(new Error(`${process.name} is dead`))
      process.onDeath.add(die)
      const answer = (settle: () => void) => {
        if (process.state === 'dead') return
        const run = () => {
          process.onDeath.delete(die)
          settle()
        }
        world.add({ label: () => `gets the answer to ${label()}`, process, run })
      }
      world.add({
        label: () => `the store gets ${label()} from ${process.name}`,
        isTracing: true,
        sender: process,
        async run() {
          try {
            await beforeCall?.()
            const result = await effect()
            record?.(result)
            world.note('', () => `${process.name} → store: ${label()} → ${describeResult(result)}`)
            answer(() => resolve(result))
          } catch (error) {
            world.note('', () => `${process.name} → store: ${label()} fails: ${error}`)
            answer(() => reject(error))
          }
        },
      })
    })
  }

  function notify(taskId: string): void {
    for (const waiter of waiters.waiting) {
      if (waiter.taskId !== taskId) continue
      waiters.waiting.delete(waiter)
      if (waiter.process.state === 'dead') continue
      world.add({ label: () => `is notified of ${nameOf(taskId)}`, process: waiter.process, run: waiter.wake })
    }
  }

  const nameOf = (taskId: string) => `task ${history.tasks.get(taskId)?.number ?? '?'}`

  return { call, notify, nameOf }
}

function describeResult(result: unknown): string {
  if (result === undefined) return 'nothing'
  if (Array.isArray(result)) return `${result.length} results`
  if (typeof result !== 'object' || result === null) return String(result)
  const { type, generation, phase, lease, fence } = result as Record<string, unknown>
  const parts = [type, phase, generation, lease && `lease ${JSON.stringify(lease)}`, fence && `fence ${fence}`]
  return parts.filter((part) => part !== undefined).join(' ')
}
