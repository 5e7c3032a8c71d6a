import { createHash } from 'node:crypto'
import type { Clock, Timer } from '../../src/core/base/clock.ts'

/** A simulated process. A frozen one does nothing until it is thawed; a dead one never does anything again. */
export interface Process {
  readonly name: string
  state: 'running' | 'frozen' | 'dead'
  /** How far the wall clock of the process is off, in milliseconds. */
  clockOffset: number
  /** Called when the process dies, so that nothing in memory waits for it. */
  readonly onDeath: Set<() => void>
}

export function createProcess(name: string, clockOffset = 0): Process {
  return { name, state: 'running', clockOffset, onDeath: new Set() }
}

/** One thing that can happen next: a store call arrives, its answer arrives, a timer fires, a caller acts. */
export interface Step {
  readonly label: () => string
  /** Whether the step adds its own line to the trace, with its result. */
  readonly isTracing?: true
  /** The process that runs the step. Undefined for what happens outside of processes. */
  readonly process?: Process
  /** The process whose request is on its way. */
  readonly sender?: Process
  run(): void | Promise<void>
}

/**
 * The scheduler and the time of a simulation. Nothing happens by itself: whatever processes do asynchronously becomes a
 * step, and `step` runs one of them. Time passes only between steps. Unlike those of `createVirtualClock`, timers need not
 * fire in order: their process may be frozen, and the schedule may run other steps first.
 */
export interface World {
  /** Milliseconds since 1970, as a perfect clock has them. */
  readonly time: number
  /** How many steps were run. */
  readonly steps: number
  readonly trace: readonly string[]
  add(step: Step): void
  /** Runs an action at that time, outside of processes. */
  at(time: number, label: string, run: () => void): void
  clockOf(process: Process): Clock
  /** Adds a line to the trace. */
  note(who: string, what: () => string): void
  /**
   * Runs the oldest step, or with a pick another one; if there is none, or if the pick says so, time passes until the
   * next timer. Returns false if nothing can happen any more.
   */
  step(pick?: Pick): Promise<boolean>
  /** Whether no step is ready, so that only time can pass. */
  isIdle(): boolean
  /** Ends a process. Requests that it has sent may still arrive. */
  kill(process: Process, isLosingRequests: boolean): void
}

/** A departure from the order in which steps became ready. A step is given by its index, modulo their number. */
export type Pick =
  /** Runs this step first. */
  | { readonly type: 'run'; readonly index: number }
  /** Runs this step only after so many others, as if a message took long. */
  | { readonly type: 'hold'; readonly index: number; readonly steps: number }
  /** Lets time pass, although there is something to do. */
  | { readonly type: 'time' }

/** Simulations begin now: PostgreSQL removes old tasks by the time of this process. Traces count from here. */
const start = Date.now()

export function createWorld(isTraced = false): World {
  const trace: string[] = []
  const timers = new Map<number, SetTimer>()
  let ready: Step[] = []
  const heldUntil = new WeakMap<Step, number>()
  let time = start
  let steps = 0
  let lastTimer = 0

  function note(who: string, what: () => string): void {
    if (isTraced) trace.push(`${String(time - start).padStart(7)} ms  ${who.padEnd(3)} ${what()}`)
  }

  function setTimer(timer: Omit<SetTimer, 'at'>, milliseconds: number): number {
    timers.set(++lastTimer, { ...timer, at: time + Math.max(0, milliseconds) })
    return lastTimer
  }

  /** Lets time pass until the next timer. All timers of that moment become ready. */
  function passTime(): boolean {
    let next = Number.POSITIVE_INFINITY
    for (const { at } of timers.values()) next = Math.min(next, at)
    if (next === Number.POSITIVE_INFINITY) return false
    time = Math.max(time, next)
    for (const [id, timer] of [...timers].sort(([, a], [, b]) => a.at - b.at)) {
      if (timer.at > time) break
      timers.delete(id)
      ready.push({ label: () => timer.label, process: timer.process, isTracing: true, run: () => fire(id, timer) })
      pending.add(id)
    }
    return true
  }

  /** Timers that are due and were not cleared since. */
  const pending = new Set<number>()

  function fire(id: number, timer: SetTimer): void {
    if (!pending.delete(id)) return
    note(timer.process?.name ?? '', () => timer.label)
    if (timer.every !== undefined) timers.set(id, { ...timer, at: time + Math.max(1, timer.every) })
    timer.act()
  }

  const canRun = ({ process }: Step) => process?.state !== 'frozen'

  function choose(pick: Pick | undefined): Step | undefined {
    const runnable = ready.filter(canRun)
    const punctual = runnable.filter((step) => (heldUntil.get(step) ?? 0) <= steps)
    const candidates = punctual.length > 0 ? punctual : runnable
    if (!pick) return candidates[0]
    if (pick.type === 'time') return undefined
    const step = candidates[pick.index % candidates.length]
    if (pick.type === 'run' || !step) return step
    note('', () => `(held for ${pick.steps} steps: ${step.label()})`)
    heldUntil.set(step, steps + pick.steps)
    return candidates.find((other) => other !== step) ?? step
  }

  return {
    get time() {
      return time
    },
    get steps() {
      return steps
    },
    trace,
    add: (step) => void ready.push(step),
    at: (moment, label, act) => void setTimer({ label, act }, moment - time),
    note,
    clockOf(process) {
      const set = (act: () => void, milliseconds: number, every?: number) =>
        process.state === 'dead'
          ? 0
          : setTimer({ label: `timer of ${milliseconds} ms`, act, process, every }, milliseconds)
      return {
        now: () => time + process.clockOffset,
        monotonic: () => time - start,
        setTimeout: (act, milliseconds) => set(act, milliseconds),
        setInterval: (act, milliseconds) => set(act, milliseconds, milliseconds),
        clearTimeout(timer: Timer | undefined) {
          if (typeof timer !== 'number') return
          timers.delete(timer)
          pending.delete(timer)
        },
      }
    },
    isIdle: () => !ready.some(canRun),
    async step(pick) {
      const chosen = choose(pick)
      if (!chosen && !passTime()) return false
      steps++
      if (chosen) {
        ready.splice(ready.indexOf(chosen), 1)
        if (!chosen.isTracing) note(chosen.process?.name ?? '', chosen.label)
        await chosen.run()
      }
      await settle()
      return true
    },
    kill(process, isLosingRequests) {
      process.state = 'dead'
      ready = ready.filter((step) => step.process !== process && !(isLosingRequests && step.sender === process))
      for (const [id, timer] of timers) if (timer.process === process) timers.delete(id)
      for (const die of process.onDeath) die()
      process.onDeath.clear()
    },
  }
}

/**
 * Computes digests on this thread until the returned function is called: an answer of another thread would come at a
 * moment that no seed determines.
 */
export function digestInStep(): () => void {
  const { subtle } = crypto
  Object.defineProperty(subtle, 'digest', {
    configurable: true,
    value: async (_: string, data: Uint8Array) => Uint8Array.from(createHash('sha256').update(data).digest()).buffer,
  })
  return () => void Reflect.deleteProperty(subtle, 'digest')
}

interface SetTimer {
  readonly at: number
  readonly label: string
  readonly process?: Process
  readonly every?: number | undefined
  readonly act: () => void
}

/** Resolves when everything that waits for no step has happened. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
