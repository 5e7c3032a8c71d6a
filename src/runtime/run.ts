import { createVoice } from '../agent/voice.ts'
import type { JournalEntry, TaskEvent } from '../protocol/events.ts'
import { lineageExtension, readLineage } from '../protocol/lineage.ts'
import { isEnded, isInterrupted, type Phase } from '../protocol/states.ts'
import type { NewTask } from '../tasks/log.ts'
import { createInbox, type Letter } from './inbox.ts'
import { failedStatus } from './input-timeout.ts'
import { readJournal } from './journal.ts'
import type { RuntimeSettings } from './options.ts'
import { type Beginning, pickUp } from './pick-up.ts'
import type { PausedTurn } from './stage.ts'
import { createStop, type Stop, type StopReason, stopText } from './stop.ts'
import { runTurn } from './turn.ts'
import { createWriter, LeaseLost } from './writer.ts'

/** A task at work in this process, from the message that woke it until it rests or ends. */
export interface Run {
  /** How many messages wait for their turn. */
  waiting(): number
  stop(reason: StopReason): void
  /** It has given its lease to whoever takes it, which must not be prolonged any more. */
  isLeaving(): boolean
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
  /** The message to begin with. Without one it is an orphan: its log tells where to go on. */
  readonly letter?: Letter
  /** Called when it is over. */
  readonly onDone?: (() => void) | undefined
}

/** Milliseconds until a store that failed is asked again for what others have said. */
const watchPause = 1_000

export function startRun({ task, fence, generation, phase, letter }: RunStart, settings: RuntimeSettings): Run {
  const { taskId } = task
  const { log, logger, recovery } = settings
  const inbox = createInbox()
  const voice = createVoice(task, settings.clock.now)
  /** The turn under way, and why the whole run must stop. */
  let turn: Stop | undefined
  let halted: StopReason | undefined
  /** The last generation at which callers stop waiting, and who waits for the next one. */
  let restedAt = 0
  let finished: AbortController | undefined
  let isOver = false
  let isLeaving = false
  const waiters: (() => void)[] = []
  /** The last message that was answered. */
  let answered = 0

  const writer = createWriter({
    log,
    taskId,
    fence,
    generation,
    phase,
    /** A task that has input does not wait for any, and is not complete: what was queued runs first. */
    adjust(event) {
      const rests = event.type === 'status' && (event.status.state === 'completed' || isInterrupted(event.status.state))
      return rests && inbox.size() > 0 ? { ...event, status: { ...event.status, state: 'working' } } : event
    },
    onForeign(event: TaskEvent, at: number) {
      if (event.type === 'cancel') stop('canceled')
      if (event.type !== 'message') return
      const answersQuestion = inbox.push({ received: event, generation: at })
      const isAnswer = answersQuestion || isInterrupted(writer.phase)
      if (!isAnswer && settings.whileBusy === 'interrupt') turn?.stop('interrupted')
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
    // The first message has nothing before it, and who keeps no journal has nothing to look up.
    const isNew = letter && (letter.generation === 1 || !recovery.isKept)
    let next: Beginning | undefined = isNew ? { letter, attempt: 1 } : await resume(letter === undefined)
    while (next) {
      turn = createStop(settings, deadlineOf(next.letter, settings))
      if (halted) turn.stop(halted)
      const stopped = await runTurn({ task, ...next, stop: turn, writer, inbox, voice }, settings)
      turn = undefined
      if (isEnded(writer.phase)) return
      const pause = typeof stopped === 'object' ? stopped : undefined
      const reason = halted ?? (typeof stopped === 'object' || stopped === 'interrupted' ? undefined : stopped)
      if (reason) return await end(reason)
      answered = Math.max(next.letter.generation, inbox.taken())
      next = pause ? await release(pause) : (following() ?? (await rest()))
    }
  }

  /** Where an earlier process, or an earlier run, has left the task. */
  async function resume(isOrphan: boolean): Promise<Beginning | undefined> {
    const journal = await readJournal(log, taskId, writer.generation)
    if (!journal && letter) return begin(letter)
    inbox.fill(journal?.queued ?? [])
    const found = pickUp(journal, recovery, { isOrphan, now: settings.clock.now() })
    switch (found.type) {
      case 'begin':
        if (found.attempt > (journal?.attempt ?? 0)) note(attemptAt(found))
        return found
      case 'rest':
        return await release(found)
      case 'cancel':
        await end('canceled')
        return undefined
      case 'fail':
        logger.warn({ taskId }, found.failure.text)
        await writer.emit(failedStatus(voice, found.failure))
        return undefined
    }
  }

  function following(): Beginning | undefined {
    const next = inbox.take()
    return next && begin(next)
  }

  function begin(next: Letter): Beginning {
    const beginning = { letter: next, attempt: 1 }
    if (recovery.isKept) note(attemptAt(beginning))
    return beginning
  }

  /** Stored together with what follows, and before it. */
  function note(entry: JournalEntry): void {
    void writer.emit({ type: 'journal', entry })
  }

  async function rest(): Promise<Beginning | undefined> {
    if (recovery.isKept) note({ type: 'rested', answered })
    return await release()
  }

  /** Gives the lease back, unless something has come meanwhile: then that is what to do next. */
  async function release(pause?: PausedTurn): Promise<Beginning | undefined> {
    for (;;) {
      await writer.settled()
      if (halted) {
        await end(halted)
        return undefined
      }
      // An answer goes to the turn that asked.
      if (inbox.size() > 0) return pause ? await resume(false) : following()
      if (await log.release(taskId, fence, writer.generation, pause?.wakeAt)) return undefined
      await writer.sync()
    }
  }

  async function end(reason: StopReason): Promise<void> {
    if (reason === 'lease-lost') throw new LeaseLost(`The lease of task ${taskId} is lost.`)
    if (reason === 'shutdown' && recovery.isKept) return await handOver()
    const canceled = reason === 'canceled'
    await writer.emit(canceled ? voice.status('canceled') : voice.status('failed', stopText(reason, settings)))
  }

  /** Whoever looks for orphans next finds this one: nobody waits for the lease to run out. */
  async function handOver(): Promise<void> {
    isLeaving = true
    await writer.emit({ type: 'journal', entry: { type: 'handed-over' } })
    await log.renew([{ taskId, fence }], 0)
  }

  function tellRest(): void {
    for (const tell of waiters.splice(0)) tell()
  }

  function nudge(): void {
    writer.sync().catch((error) => logger.error({ taskId, error }, 'a task could not be read'))
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await hear(signal).catch(async (error) => {
        logger.error({ taskId, error }, 'a task could not be watched; it is tried again')
        await new Promise<void>((resolve) => settings.clock.setTimeout(resolve, watchPause))
      })
    }
  }

  async function hear(signal: AbortSignal): Promise<void> {
    const seen = writer.generation
    await log.wait(taskId, seen, signal)
    await writer.settled()
    // What we wrote ourselves needs no reading; and a write that comes after somebody else's reads it first.
    if (writer.generation === seen && !signal.aborted) await writer.sync()
  }

  function watch(): void {
    if (finished || isOver) return
    finished = new AbortController()
    void follow(finished.signal)
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
    isLeaving: () => isLeaving,
    nudge,
    watch,
    rested: (after) => (restedAt > after ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    done: run(),
  }
}

/** Until when an answer is of use to whoever sent the message. */
function deadlineOf({ received }: Letter, { calls }: RuntimeSettings): number | undefined {
  const { metadata } = received.message
  return metadata?.[lineageExtension] === undefined ? undefined : readLineage(metadata, calls.self.ids).deadline
}

function attemptAt({ letter, attempt }: Beginning): JournalEntry {
  return { type: 'attempt', message: letter.generation, attempt }
}
