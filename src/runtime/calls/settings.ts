import type { Agent } from '../../agent/agent.ts'
import type { Reach, ReachOptions } from '../../agent/calling.ts'
import { identityOf, type Self } from '../../protocol/lineage.ts'
import { type Contexts, createContexts } from './contexts.ts'

/** How an agent asks other agents. */
export interface CallsOptions extends Pick<ReachOptions, 'auth' | 'fetch'> {
  /** How agents are found. As `connect` does by default. */
  readonly reach?: Reach
  /** How many agents may stand one behind the other, also for those who ask this one. 8 by default. */
  readonly maxDepth?: number
  /** By what this agent finds itself in a chain; by its name, description and provider otherwise. */
  readonly identity?: string
  /** Headers that go with a call. Those of the trace do so by themselves, unless they are given here. */
  readonly headers?: (call: OutgoingCall) => Readonly<Record<string, string>> | undefined
}

export interface OutgoingCall {
  /** In which it is made. */
  readonly taskId: string
  readonly contextId: string
  /** Who is asked. */
  readonly agent: string
}

export interface CallSettings extends Pick<CallsOptions, 'auth' | 'fetch' | 'headers'> {
  readonly reach: Reach | undefined
  readonly self: Self
  readonly contexts: Contexts
}

export function readCalls({ profile, reach }: Agent, options: CallsOptions = {}): CallSettings {
  const { maxDepth = 8, identity, auth, fetch, headers } = options
  if (!Number.isInteger(maxDepth) || maxDepth < 0) {
    throw new TypeError(`calls.maxDepth: expected a whole number from 0 on, got ${maxDepth}`)
  }
  const known = identityOf(profile)
  return {
    reach: options.reach ?? reach,
    auth,
    fetch,
    headers,
    // What others make of its card counts, too: they may not know what it calls itself.
    self: { agent: profile.name, ids: identity === undefined ? [known] : [identity, known], maxDepth },
    contexts: createContexts(),
  }
}
