import type { Agent } from '../../agent/agent.ts'
import type { AgentCallOptions, CallTarget, FanOutOptions, ReachOptions, ResolveAgent } from '../../agent/call-agent.ts'
import type { MessageFields } from '../../agent/content.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import { isObject } from '../../base/json.ts'
import {
  aFunction,
  anObject,
  anything,
  group,
  having,
  integer,
  isAbove,
  listOf,
  milliseconds,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  text,
} from '../../base/options.ts'
import { identityOf, type Lineage, type ReceivingAgent } from '../../protocol/extensions/lineage.ts'

/** How many conversations with other agents are remembered. A forgotten one starts anew. */
const maxConversations = 10_000

/** A call of an agent, for `CallsOptions.headers`. */
export interface OutgoingCall {
  /** The task that makes the call. */
  readonly taskId: string
  readonly contextId: string
  /** The name of the called agent. */
  readonly agent: string
}

/** How an agent calls other agents. */
export interface CallsOptions extends Pick<ReachOptions, 'auth' | 'fetch'> {
  /**
   * Whether agents on this machine may be called. `serve` defaults it to `refuse` if other machines can reach the server:
   * its callers may choose what the agent calls. Otherwise an agent on this machine is called if its URL was passed in.
   */
  readonly loopback?: ReachOptions['loopback']
  /** Resolves an agent. Defaults to `connect`. */
  readonly reach?: ResolveAgent
  /** The longest chain of agents that call each other, including the callers of this one. Defaults to 8. */
  readonly maxDepth?: number
  /** The number of calls that one turn may make, unless its caller gives it a smaller budget. Defaults to 1,000. */
  readonly maxCalls?: number
  /**
   * The number of calls of this agent that may be in progress in one process. Agents that call each other in a circle
   * and drop both the lineage and its header end here. Defaults to 500.
   */
  readonly maxRunning?: number
  /**
   * How long a call may take in milliseconds, including questions to the caller and the calls of the other agent.
   * Defaults to 24 hours, or to the caller's deadline if that is earlier. `Infinity` sets no limit.
   */
  readonly timeout?: number
  /** Identifies this agent in a chain. Defaults to a hash of its name, description and provider. */
  readonly identity?: string
  /** Additional headers of a call. They can replace the headers of the trace, which are sent anyway. */
  readonly headers?: (call: OutgoingCall) => Readonly<Record<string, string>> | undefined
}

export const callsCheck: OptionCheck = group<CallsOptions>({
  auth: listOf(anObject),
  fetch: aFunction,
  loopback: oneOf('allow', 'refuse'),
  reach: aFunction,
  maxDepth: integer(),
  maxCalls: isAbove(0),
  maxRunning: isAbove(0),
  timeout: milliseconds({ min: 1 }),
  identity: text,
  headers: aFunction,
})

/** The options of `turn.call`. The other agent checks ids and skills. */
export const callChecks: OptionChecks<AgentCallOptions> = {
  name: text,
  contextId: anything,
  taskId: anything,
  skill: anything,
  metadata: anObject,
  acceptedOutputModes: listOf(text),
  auth: listOf(anObject),
  headers: anObject,
  timeout: milliseconds(),
  budget: integer(),
  signal: having('an AbortSignal', 'aborted'),
  relay: oneOf('status', 'all', 'none'),
}

const { name: _, ...sharedChecks } = callChecks

/** The options of `turn.callAll` and `turn.callFirst`. */
export const fanOutChecks: OptionChecks<FanOutOptions> = { ...sharedChecks, concurrency: isAbove(0) }

export interface CallSettings extends Pick<CallsOptions, 'auth' | 'fetch' | 'headers' | 'loopback'> {
  readonly reach: ResolveAgent | undefined
  readonly self: ReceivingAgent
  readonly conversations: Conversations
  readonly limits: CallLimits
}

/** Limits of calls, and the calls that are in progress. */
export interface CallLimits {
  readonly maxCalls: number
  readonly maxRunning: number
  readonly timeout: number
  running: number
}

/** The context ids of the called agents: one for each agent, in each context of ours, for each owner. */
export interface Conversations {
  get(key: ConversationKey): string | undefined
  set(key: ConversationKey, contextId: string): void
}

export interface ConversationKey {
  readonly owner: string
  readonly contextId: string
  /** The `targetKey` of the called agent. */
  readonly target: string
}

export function readCallSettings({ profile, reach }: Agent, options: CallsOptions = {}): CallSettings {
  const { maxDepth = 8, identity, auth, fetch, headers, loopback } = options
  const { maxCalls = 1_000, maxRunning = 500, timeout = 24 * 3_600_000 } = options
  for (const [name, value] of Object.entries({ maxCalls, maxRunning, timeout })) {
    if (!(value > 0)) throw new TypeError(`calls.${name}: expected a number above 0, got ${value}`)
  }
  if (!Number.isInteger(maxDepth) || maxDepth < 0) {
    throw new TypeError(`calls.maxDepth: expected a whole number from 0 on, got ${maxDepth}`)
  }
  const cardIdentity = identityOf(profile)
  return {
    reach: options.reach ?? reach,
    auth,
    fetch,
    headers,
    ...(loopback !== undefined && { loopback }),
    // Other agents may only know the card, and identify this agent by it.
    self: { agent: profile.name, ids: identity === undefined ? [cardIdentity] : [identity, cardIdentity], maxDepth },
    conversations: createConversations(),
    limits: { maxCalls, maxRunning, timeout, running: 0 },
  }
}

/** A call with its share of the budget. */
export interface CallPlan {
  /** Names the call in the journal. */
  readonly name: string
  readonly target: CallTarget
  /** The name of the target before its card is known. */
  readonly targetName: string
  readonly content: MessageFields
  readonly options: AgentCallOptions
  /** The lineage for the other agent, without the deadline, which is set when the call starts. */
  readonly lineage: Lineage
  /** Why the call must not be sent. */
  readonly refusal?: Error
}

/** Names a target in the journal and in errors, without its query and its credentials. */
export function nameOfTarget(target: CallTarget): string {
  if (typeof target === 'string' || target instanceof URL) return withoutSecrets(`${target}`)
  if ('service' in target && 'card' in target) return nameOfCard(target.card) ?? 'an agent'
  if ('profile' in target && isObject(target.profile)) return nameOfCard(target.profile) ?? 'an agent'
  return nameOfCard(target) ?? 'an agent'
}

/** Identifies a target among conversations. Agents in this process are numbered, because names may repeat. */
export function targetKey(target: CallTarget, name: string): string {
  if (typeof target !== 'object' || target instanceof URL) return name
  const number = targetNumbers.get(target) ?? ++lastTargetNumber
  targetNumbers.set(target, number)
  return `${name} #${number}`
}

const targetNumbers = new WeakMap<object, number>()

let lastTargetNumber = 0

function createConversations(): Conversations {
  const contextIds = new BoundedMap<string, string>(maxConversations)
  const textOf = ({ owner, contextId, target }: ConversationKey) => JSON.stringify([owner, contextId, target])
  return {
    get: (key) => contextIds.get(textOf(key)),
    set: (key, contextId) => contextIds.set(textOf(key), contextId),
  }
}

function withoutSecrets(address: string): string {
  if (!URL.canParse(address)) return address.slice(0, 200)
  const { origin, host, pathname } = new URL(address)
  return `${origin === 'null' ? host : origin}${pathname}`.slice(0, 200)
}

function nameOfCard(card: unknown): string | undefined {
  return isObject(card) && 'name' in card && typeof card.name === 'string' ? card.name : undefined
}
