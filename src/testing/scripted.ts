import { type Agent, type AgentProfile, agent } from '../core/agent/agent.ts'
import type { Content } from '../core/agent/content.ts'
import type { Turn } from '../core/agent/turn.ts'
import { type Clock, systemClock } from '../core/base/clock.ts'
import type { Json } from '../core/base/json.ts'
import { clockCheck } from '../core/base/options.ts'
import type { Message, TaskState } from '../core/protocol/model.ts'

/** One action of a scripted agent. */
export type Step =
  /** Replies with a message, or completes the task if there is one. Ends the script. */
  | { readonly say: Content }
  | { readonly status: TaskState; readonly text?: string }
  /** Writes an artifact in chunks. */
  | { readonly artifact: string; readonly chunks: readonly string[] }
  | { readonly data: Json; readonly name?: string }
  /** Asks the caller, and continues with the script after the answer. */
  | { readonly ask: string }
  /** Waits for a time in milliseconds of its clock, or for a promise. */
  | { readonly wait: number | Promise<unknown> }
  /** Waits until the task is canceled. */
  | { readonly hang: true }
  | { readonly fail: string }
  | { readonly reject: string }
  /** Throws, like an agent with a bug. */
  | { readonly throw: unknown }

/** Options of `scripted`. */
export interface ScriptedOptions extends Partial<AgentProfile> {
  /** The clock of `wait` steps; pass the same one to `createPair`. Defaults to the system clock. */
  readonly clock?: Clock
}

/** An agent that runs a script, as `scripted` returns it. */
export interface ScriptedAgent extends Agent {
  /** The received messages, answers to questions included, in order. */
  readonly received: readonly Message[]
}

/**
 * Creates an agent that runs a fixed script for every message, or the script that a function returns for the turn.
 *
 * @example
 * const shop = scripted([{ ask: 'Which colour?' }, { say: 'Ordered.' }])
 */
export function scripted(
  script: readonly Step[] | ((turn: Turn) => readonly Step[]),
  { clock = systemClock, ...profile }: ScriptedOptions = {},
): ScriptedAgent {
  clockCheck(clock, 'scripted: clock')
  const received: Message[] = []
  const made = agent({ name: 'Scripted', ...profile }, async (turn) => {
    received.push(turn.message)
    for (const step of typeof script === 'function' ? script(turn) : script) {
      if ('say' in step) return step.say
      if (turn.signal.aborted) return undefined
      await perform(step, turn)
    }
    return undefined
  })
  return { ...made, received }

  async function perform(step: Exclude<Step, { say: Content }>, turn: Turn): Promise<void> {
    if ('status' in step) await turn.status(step.status, step.text)
    else if ('artifact' in step) await write(turn, step)
    else if ('data' in step) await turn.data(step.data, step.name)
    else if ('ask' in step) received.push((await turn.ask(step.ask)).message)
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
