import type { Clock, Timer } from '../../base/clock.ts'
import { type Json, sameJson } from '../../base/json.ts'
import type { StepEntry } from '../../protocol/events.ts'
import { inputRequestIn } from '../../protocol/extensions/client-tools.ts'
import { type Message, textOf } from '../../protocol/model.ts'
import { isInterrupted } from '../../protocol/states.ts'
import { type Journal, type OutputEvent, stepKey } from './journal.ts'

/** Milliseconds without progress, while new output waits, after which the code is taken for different. */
const patience = 2_000

/**
 * Compares what the code of a resumed turn does with the journal of the earlier attempt. Output is compared in order,
 * except that concurrent code may emit in another order; steps are found by their names. Nothing new happens before the
 * whole journal is replayed: the journal was stored first, so it cannot depend on anything new. If the replay makes no
 * progress, the code is not the one that wrote the journal.
 */
export interface Replay {
  /** Calls back, perhaps at once: with the stored event when it is the next one, or with undefined after the replay. */
  output<E extends OutputEvent>(event: E, proceed: (stored: E | undefined) => void): void
  /** Whether the event is the next one in the journal. */
  expects(event: OutputEvent): boolean
  /** The number of this call of a step, and its stored result. */
  step(name: string): Pick<StepEntry, 'step' | 'call'> & { readonly stored?: StepEntry }
  /** Calls back after the replay, perhaps at once. `waiting` describes what waits. */
  whenDone(waiting: string, proceed: () => void): void
  isDone(): boolean
  /** Called when the turn is over. If the agent returned (`isComplete`), an unfinished replay is a difference. */
  close(isComplete: boolean): void
}

export function createReplay(journal: Journal | undefined, clock: Clock, onDifference: (text: string) => void): Replay {
  const output = journal?.output ?? []
  const steps = new Map(journal?.steps)
  const calls = new Map<string, number>()
  const waiting: WaitingCode[] = []
  let replayed = 0
  let timer: Timer | undefined

  const isDone = () => replayed === output.length && steps.size === 0

  /** Describes the first entry that was not replayed. Steps are in the order in which they were stored. */
  function expected(): string {
    const event = output[replayed]
    const [step] = steps.values()
    if (step && (!event || step.generation < event.generation)) return describeStep(step.value)
    return event ? describeEvent(event.value) : 'nothing more'
  }

  function reportDifference(actual: string): void {
    clock.clearTimeout(timer)
    waiting.length = 0
    onDifference(
      `The code of this turn does not fit its journal any more. First difference: the journal has ${expected()}, the code has ${actual}.`,
    )
  }

  function progress(): void {
    clock.clearTimeout(timer)
    while (replayNext());
    if (isDone()) for (const { proceed } of waiting.splice(0)) proceed(undefined)
    else startTimer()
  }

  /** Replays the next event if some code waits to emit it. Requests with the same text differ in their ids. */
  function replayNext(): boolean {
    const stored = output[replayed]?.value
    if (!stored) return false
    const isNext = ({ event }: WaitingCode) => event !== undefined && isSame(stored, event)
    const byId = waiting.findIndex((code) => isNext(code) && requestIdOf(code.event) === requestIdOf(stored))
    const index = byId < 0 ? waiting.findIndex(isNext) : byId
    if (index < 0) return false
    replayed++
    for (const { proceed } of waiting.splice(index, 1)) proceed(stored)
    return true
  }

  function wait(code: WaitingCode): void {
    waiting.push(code)
    if (waiting.length === 1) startTimer()
  }

  function startTimer(): void {
    const [first] = waiting
    if (first) timer = clock.setTimeout(() => reportDifference(first.description), patience)
  }

  return {
    isDone,
    output<E extends OutputEvent>(event: E, proceed: (stored: E | undefined) => void) {
      if (isDone()) return proceed(undefined)
      // Events that are the same have the same type.
      wait({ description: describeEvent(event), event, proceed: (stored) => proceed(stored as E | undefined) })
      progress()
    },
    expects(event) {
      const stored = output[replayed]
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
    whenDone(description, proceed) {
      if (isDone()) return proceed()
      wait({ description, proceed: () => proceed() })
    },
    close(isComplete) {
      clock.clearTimeout(timer)
      if (isComplete && !isDone()) reportDifference('its end')
    },
  }
}

export function describeStep({ step, call }: Pick<StepEntry, 'step' | 'call'>): string {
  return call === 1 ? `the step "${step}"` : `call ${call} of the step "${step}"`
}

/** Code that waits until it may emit an event, or until the replay is done. */
interface WaitingCode {
  readonly description: string
  readonly event?: OutputEvent
  readonly proceed: (stored: OutputEvent | undefined) => void
}

function describeEvent(event: OutputEvent): string {
  if (event.type === 'status') return `the status "${event.status.state}"${quote(event.status.message)}`
  const { name, artifactId } = event.artifact
  return `${event.append ? 'a chunk of' : ''} the artifact "${name ?? artifactId}"${quote(event.artifact)}`.trim()
}

function quote(content: Pick<Message, 'parts'> | undefined): string {
  if (!content) return ''
  const text = textOf(content)
  return text === '' ? '' : ` (${JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)})`
}

/**
 * Whether the code emits the stored event again. Ids and times differ in every attempt, and an idle state was stored as
 * `working` if messages were queued.
 */
function isSame(stored: OutputEvent, event: OutputEvent): boolean {
  if (stored.type === 'artifact') {
    if (event.type !== 'artifact' || !sameJson(stored.artifact, event.artifact)) return false
    return (
      (stored.append ?? false) === (event.append ?? false) && (stored.lastChunk ?? false) === (event.lastChunk ?? false)
    )
  }
  if (event.type !== 'status') return false
  const { state, message } = event.status
  const isIdle = state === 'completed' || isInterrupted(state)
  const isSameState = stored.status.state === state || (isIdle && stored.status.state === 'working')
  return isSameState && sameJson(stored.status.message?.parts, message?.parts)
}

function requestIdOf(event: OutputEvent | undefined): Json | undefined {
  return event?.type === 'status' ? inputRequestIn(event.status.message)?.requestId : undefined
}
