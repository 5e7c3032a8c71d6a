import { createVoice } from '../agent/voice.ts'
import type { MessageEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded, isInterrupted, type Phase } from '../protocol/states.ts'
import type { NewTask } from '../tasks/log.ts'
import { createInbox } from './inbox.ts'
import type { RuntimeSettings } from './options.ts'
import { createStop, type Stop, type StopReason, stopText } from './stop.ts'
import { runTurn } from './turn.ts'
import { createWriter, LeaseLost } from './writer.ts'

/** A task at work in this process, from the message that woke it until it rests or ends. */
export interface Run {
  /** How many messages wait for their turn. */
  waiting(): number
  stop(reason: StopReason): void
  /** Somebody in this process has stored a message or a wish for it. */
  nudge(): void
  /** From now on it hears also what callers in other processes store. */
  watch(): void
  /** Resolves when it has stored, beyond that generation, a state at which callers stop waiting; or when it is over. */
  rested(after: number): Promise<void>
  /** Resolves when the lease is given back or lost. Never rejects. */
  readonly done: Promise<void>
}

export interface RunStart {
  readonly task: NewTask
  readonly fence: number
  readonly generation: number
  readonly phase: Phase
  /** The message to begin with; is it the first of its task? */
  readonly received: MessageEvent
  readonly isFirst: boolean
}

export function startRun(
  { task, fence, generation, phase, received, isFirst }: RunStart,
  settings: RuntimeSettings,
): Run {
  const { taskId } = task
  const { log, logger } = settings
  const inbox = createInbox()
  const voice = createVoice(task)
  /** The turn under way, and why the whole run must stop. */
  let turn: Stop | undefined
  let halted: StopReason | undefined
  /** The last generation at which callers stop waiting, and who waits for the next one. */
  let restedAt = 0
  let finished: AbortController | undefined
  let isOver = false
  const waiters: (() => void)[] = []

  const writer = createWriter({
    log,
    taskId,
    fence,
    generation,
    phase,
    /** A task that has input does not wait for any, and is not complete: what was queued runs first. */
    adjust(event) {
      const rests = event.type === 'status' && ['completed', 'input-required'].includes(event.status.state)
      return rests && inbox.size() > 0 ? { ...event, status: { ...event.status, state: 'working' } } : event
    },
    onForeign(event: TaskEvent) {
      if (event.type === 'cancel') stop('canceled')
      if (event.type !== 'message') return
      const answersQuestion = inbox.push(event)
      if (!answersQuestion && settings.whileBusy === 'interrupt') turn?.stop('interrupted')
    },
    onStored() {
      if (!isEnded(writer.phase) && !isInterrupted(writer.phase)) return
      restedAt = writer.generation
      tellRest()
    },
    onLost: () => stop('lease-lost'),
    onFlood: () => stop('flooded'),
  })

  function stop(reason: StopReason): void {
    halted ??= reason
    turn?.stop(reason)
  }

  async function work(): Promise<void> {
    let fresh = isFirst
    for (let message: MessageEvent | undefined = received; message; message = inbox.take() ?? (await rest())) {
      turn = createStop(settings)
      if (halted) turn.stop(halted)
      const stopped = await runTurn({ task, message, isFirst: fresh, stop: turn, writer, inbox, voice }, settings)
      turn = undefined
      fresh = false
      if (isEnded(writer.phase)) return
      const reason = halted ?? (stopped === 'interrupted' ? undefined : stopped)
      if (reason) return await end(reason)
    }
  }

  /** Gives the lease back, unless something has come meanwhile: then that is what to do next. */
  async function rest(): Promise<MessageEvent | undefined> {
    while (!(await log.release(taskId, fence, writer.generation))) {
      await writer.sync()
      if (halted) {
        await end(halted)
        return undefined
      }
      const next = inbox.take()
      if (next) return next
    }
    return undefined
  }

  async function end(reason: StopReason): Promise<void> {
    if (reason === 'lease-lost') throw new LeaseLost(`The lease of task ${taskId} is lost.`)
    const canceled = reason === 'canceled'
    await writer.emit(canceled ? voice.status('canceled') : voice.status('failed', stopText(reason, settings)))
  }

  function tellRest(): void {
    for (const tell of waiters.splice(0)) tell()
  }

  function nudge(): void {
    writer.sync().catch((error) => logger.error({ taskId, error }, 'a task could not be read'))
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const seen = writer.generation
      await log.wait(taskId, seen, signal)
      await writer.settled()
      // What we wrote ourselves needs no reading; and a write that comes after somebody else's reads it first.
      if (writer.generation === seen && !signal.aborted) await writer.sync()
    }
  }

  function watch(): void {
    if (finished || isOver) return
    finished = new AbortController()
    follow(finished.signal).catch((error) => logger.error({ taskId, error }, 'a task could not be watched'))
  }

  async function run(): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof LeaseLost) logger.warn({ taskId, fence }, 'the lease of a task was lost to another process')
      else logger.error({ taskId, error }, 'a task could not be stored; it is failed when its lease has run out')
    } finally {
      isOver = true
      finished?.abort('done')
      restedAt = Number.POSITIVE_INFINITY
      tellRest()
    }
  }

  return {
    waiting: inbox.size,
    stop,
    nudge,
    watch,
    rested: (after) => (restedAt > after ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    done: run(),
  }
}
