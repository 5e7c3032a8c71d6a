import { createVoice } from '../agent/voice.ts'
import type { MessageEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded, type Phase } from '../protocol/states.ts'
import type { NewTask } from '../tasks/log.ts'
import { createInbox } from './inbox.ts'
import type { RuntimeSettings } from './options.ts'
import { createStop, type Stop, type StopReason, stopText } from './stop.ts'
import { runTurn } from './turn.ts'
import { createWriter, LeaseLost } from './writer.ts'

/** A task at work in this process, from the message that woke it until it rests or ends. */
export interface Run {
  /** Messages that wait for their turn. */
  readonly waiting: number
  stop(reason: StopReason): void
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
  const finished = new AbortController()
  const voice = createVoice(task)
  /** The turn under way, and why the whole run must stop. */
  let turn: Stop | undefined
  let halted: StopReason | undefined

  const writer = createWriter({
    log,
    taskId,
    fence,
    generation,
    phase,
    /** A task that has input does not wait for any, and is not complete: what was queued runs first. */
    adjust(event) {
      const rests = event.type === 'status' && ['completed', 'input-required'].includes(event.status.state)
      return rests && inbox.size > 0 ? { ...event, status: { ...event.status, state: 'working' } } : event
    },
    onForeign(event: TaskEvent) {
      if (event.type === 'cancel') stop('canceled')
      if (event.type !== 'message') return
      const answersQuestion = inbox.push(event)
      if (!answersQuestion && settings.whileBusy === 'interrupt') turn?.stop('interrupted')
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

  /** Callers write to this task too, from here or from another process: their messages, and their wish to cancel. */
  async function watch(): Promise<void> {
    while (!finished.signal.aborted) {
      const seen = writer.generation
      await log.wait(taskId, seen, finished.signal)
      await writer.settled()
      // What we wrote ourselves needs no reading; and a write that comes after somebody else's reads it first.
      if (writer.generation === seen && !finished.signal.aborted) await writer.sync()
    }
  }

  async function run(): Promise<void> {
    const watching = watch()
    try {
      await work()
    } catch (error) {
      if (error instanceof LeaseLost) logger.warn({ taskId, fence }, 'the lease of a task was lost to another process')
      else logger.error({ taskId, error }, 'a task could not be stored; it is failed when its lease has run out')
    } finally {
      finished.abort()
      await watching.catch((error) => logger.error({ taskId, error }, 'a task could not be watched'))
    }
  }

  return {
    get waiting() {
      return inbox.size
    },
    stop,
    done: run(),
  }
}
