import type { Clock, Timer } from '../../base/clock.ts'
import { type Json, sameJson } from '../../base/json.ts'
import type { StepEntry } from '../../protocol/events.ts'
import { inputRequestIn } from '../../protocol/extensions/client-tools.ts'
import { type Message, textOf } from '../../protocol/model.ts'
import { isInterrupted } from '../../protocol/states.ts'
import { type Journal, type OutputEvent, stepKey } from './journal.ts'

/** So many milliseconds without progress, while something new waits, mean that there will be none. */
const patience = 2_000

/**
 * What a turn has done before, against what its code does now. What it says is compared in order, but what is said side
 * by side may come in another one; steps are found by their names. Nothing new happens before all that is stored was
 * replayed: it was stored first, so nothing of it can depend on what is new. If that goes nowhere, the code is not the
 * one that wrote the journal.
 */
export interface Replay {
  /** Calls back, perhaps at once: when it is the next of what is stored, with that; or when all was replayed. */
  output<S extends OutputEvent>(event: S, go: (stored: S | undefined) => void): void
  /** Whether this is what comes next in what is stored. */
  expects(event: OutputEvent): boolean
  /** Which call of a step this is, and what it gave if it is stored. */
  step(name: string): Pick<StepEntry, 'step' | 'call'> & { readonly stored?: StepEntry }
  /** Calls back when all was replayed, which may be at once. */
  whenDone(what: string, go: () => void): void
  isDone(): boolean
  /** The turn is over; if it is done, what was not replayed by now is a difference. */
  close(isOver: boolean): void
}

export function createReplay(journal: Journal | undefined, clock: Clock, onDifference: (text: string) => void): Replay {
  const said = journal?.output ?? []
  const steps = new Map(journal?.steps)
  const calls = new Map<string, number>()
  const waiting: Waiting[] = []
  let saidAgain = 0
  let timer: Timer | undefined

  const isDone = () => saidAgain === said.length && steps.size === 0

  /** The first of what is stored and was not replayed. Steps are in the order in which they were stored. */
  function expected(): string {
    const next = said[saidAgain]
    const [step] = steps.values()
    if (step && (!next || step.generation < next.generation)) return describeStep(step.value)
    return next ? describe(next.value) : 'nothing more'
  }

  function differ(now: string): void {
    clock.clearTimeout(timer)
    waiting.length = 0
    onDifference(
      `The code of this turn does not fit its journal any more. First difference: the journal has ${expected()}, the code has ${now}.`,
    )
  }

  function progress(): void {
    clock.clearTimeout(timer)
    while (sayNext());
    if (isDone()) for (const { go } of waiting.splice(0)) go(undefined)
    else arm()
  }

  /** If somebody waits to say what comes next in what is stored. Requests in the same words have different ids. */
  function sayNext(): boolean {
    const stored = said[saidAgain]?.value
    if (!stored) return false
    const isNext = ({ event }: Waiting) => event !== undefined && isSame(stored, event)
    const byId = waiting.findIndex((each) => isNext(each) && requestIdOf(each.event) === requestIdOf(stored))
    const at = byId < 0 ? waiting.findIndex(isNext) : byId
    if (at < 0) return false
    saidAgain++
    for (const { go } of waiting.splice(at, 1)) go(stored)
    return true
  }

  function wait(given: Waiting): void {
    waiting.push(given)
    if (waiting.length === 1) arm()
  }

  function arm(): void {
    const [first] = waiting
    if (first) timer = clock.setTimeout(() => differ(first.what), patience)
  }

  return {
    isDone,
    output<S extends OutputEvent>(event: S, go: (stored: S | undefined) => void) {
      if (isDone()) return go(undefined)
      // What is the same is of the same type.
      wait({ what: describe(event), event, go: (stored) => go(stored as S | undefined) })
      progress()
    },
    expects(event) {
      const stored = said[saidAgain]
      return stored !== undefined && isSame(stored.value, event)
    },
    step(step) {
      const call = (calls.get(step) ?? 0) + 1
      calls.set(step, call)
      const key = stepKey({ step, call })
      const stored = steps.get(key)
      if (steps.delete(key)) progress()
      return stored ? { step, call, stored: stored.value } : { step, call }
    },
    whenDone(what, go) {
      if (isDone()) return go()
      wait({ what, go: () => go() })
    },
    close(isOver) {
      clock.clearTimeout(timer)
      if (isOver && !isDone()) differ('its end')
    },
  }
}

export function describeStep({ step, call }: Pick<StepEntry, 'step' | 'call'>): string {
  return call === 1 ? `the step "${step}"` : `call ${call} of the step "${step}"`
}

interface Waiting {
  readonly what: string
  readonly event?: OutputEvent
  readonly go: (stored: OutputEvent | undefined) => void
}

function describe(said: OutputEvent): string {
  if (said.type === 'status') return `the status "${said.status.state}"${quote(said.status.message)}`
  const { name, artifactId } = said.artifact
  return `${said.append ? 'a chunk of' : ''} the artifact "${name ?? artifactId}"${quote(said.artifact)}`.trim()
}

function quote(said: Pick<Message, 'parts'> | undefined): string {
  if (!said) return ''
  const text = textOf(said)
  return text === '' ? '' : ` (${JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)})`
}

/** Ids and times are new with every run, and what rests while there is more to do is stored as work. */
function isSame(stored: OutputEvent, now: OutputEvent): boolean {
  if (stored.type === 'artifact') {
    if (now.type !== 'artifact' || !sameJson(stored.artifact, now.artifact)) return false
    return (
      (stored.append ?? false) === (now.append ?? false) && (stored.lastChunk ?? false) === (now.lastChunk ?? false)
    )
  }
  if (now.type !== 'status') return false
  const rests = now.status.state === 'completed' || isInterrupted(now.status.state)
  const isState = stored.status.state === now.status.state || (rests && stored.status.state === 'working')
  return isState && sameJson(stored.status.message?.parts, now.status.message?.parts)
}

function requestIdOf(said: OutputEvent | undefined): Json | undefined {
  return said?.type === 'status' ? inputRequestIn(said.status.message)?.requestId : undefined
}
