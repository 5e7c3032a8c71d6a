import { type Agent, type AgentProfile, agent } from '../agent/agent.ts'
import type { Turn } from '../agent/turn.ts'
import type { Content } from '../agent/turn-output.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Json } from '../base/json.ts'
import type { Message, TaskState } from '../protocol/model.ts'

/** One thing that a scripted agent does. */
export type Step =
  /** Answers with a message, or, where there is a task, completes it. Nothing of the script follows. */
  | { readonly say: Content }
  | { readonly status: TaskState; readonly text?: string }
  /** Writes an artifact, chunk by chunk. */
  | { readonly artifact: string; readonly chunks: readonly string[] }
  | { readonly data: Json; readonly name?: string }
  /** Asks, and goes on with the script when it is answered. */
  | { readonly ask: string }
  /** Waits so many milliseconds of its clock, or until something has happened. */
  | { readonly wait: number | Promise<unknown> }
  /** Waits until it is canceled. */
  | { readonly hang: true }
  | { readonly fail: string }
  | { readonly reject: string }
  /** Throws, as an agent with a bug does. */
  | { readonly throw: unknown }

export interface ScriptedOptions extends Partial<AgentProfile> {
  /** Of the steps that wait: the one that is handed to `pair`. */
  readonly clock?: Clock
}

export interface ScriptedAgent extends Agent {
  /** The messages that it was sent, and what it was answered, in order. */
  readonly heard: readonly Message[]
}

/** An agent that does what it is told, whatever it is told by others; or, with a function, depending on it. */
export function scripted(
  script: readonly Step[] | ((turn: Turn) => readonly Step[]),
  { clock = systemClock, ...profile }: ScriptedOptions = {},
): ScriptedAgent {
  const heard: Message[] = []
  const made = agent({ name: 'Scripted', ...profile }, async (turn) => {
    heard.push(turn.message)
    for (const step of typeof script === 'function' ? script(turn) : script) {
      if ('say' in step) return step.say
      if (turn.signal.aborted) return undefined
      await perform(step, turn)
    }
    return undefined
  })
  return { ...made, heard }

  async function perform(step: Exclude<Step, { say: Content }>, turn: Turn): Promise<void> {
    if ('status' in step) await turn.status(step.status, step.text)
    else if ('artifact' in step) await write(turn, step)
    else if ('data' in step) await turn.data(step.data, step.name)
    else if ('ask' in step) heard.push((await turn.ask(step.ask)).message)
    else if ('wait' in step) await elapse(step.wait, turn.signal)
    else if ('hang' in step) await aborted(turn.signal)
    else if ('fail' in step) await turn.fail(step.fail)
    else if ('reject' in step) await turn.reject(step.reject)
    else throw step.throw
  }

  async function elapse(wait: number | Promise<unknown>, signal: AbortSignal): Promise<void> {
    const waiting = typeof wait === 'number' ? new Promise<void>((resolve) => clock.setTimeout(resolve, wait)) : wait
    await Promise.race([waiting, aborted(signal)])
  }
}

async function write(turn: Turn, { artifact: name, chunks }: Extract<Step, { artifact: string }>): Promise<void> {
  const writer = turn.artifact(name)
  for (const chunk of chunks) await writer.write(chunk)
  await writer.close()
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}
