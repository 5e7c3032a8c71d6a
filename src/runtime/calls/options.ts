import type { Agent } from '../../agent/agent.ts'
import type { CallOptions, CallTarget, ReachOptions, ResolveAgent } from '../../agent/call-agent.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import { isObject } from '../../base/json.ts'
import { identityOf, type Lineage, type ReceivingAgent } from '../../protocol/extensions/lineage.ts'
import type { Part } from '../../protocol/model.ts'

const numbers = new WeakMap<object, number>()

let last = 0

/** Those that were used last. Whose is forgotten begins a new conversation. */
const limit = 10_000

/** Whom a target means, to tell conversations apart: agents in this process may have the same name. */
export function targetKey(target: CallTarget, name: string): string {
  if (typeof target !== 'object' || target instanceof URL) return name
  const number = numbers.get(target) ?? ++last
  numbers.set(target, number)
  return `${name} #${number}`
}

export interface OutgoingCall {
  /** In which it is made. */
  readonly taskId: string
  readonly contextId: string
  /** Who is asked. */
  readonly agent: string
}

/** How an agent asks other agents. */
export interface CallsOptions extends Pick<ReachOptions, 'auth' | 'fetch'> {
  /** How agents are found. As `connect` does by default. */
  readonly reach?: ResolveAgent
  /** How many agents may stand one behind the other, also for those who ask this one. 8 by default. */
  readonly maxDepth?: number
  /** By what this agent finds itself in a chain; by its name, description and provider otherwise. */
  readonly identity?: string
  /** Headers that go with a call. Those of the trace do so by themselves, unless they are given here. */
  readonly headers?: (call: OutgoingCall) => Readonly<Record<string, string>> | undefined
}

export interface ConversationKey {
  readonly owner: string
  readonly contextId: string
  readonly callee: string
}

/** The conversations with other agents: one for each of them in each context of ours and of one owner. */
export interface Conversations {
  get(place: ConversationKey): string | undefined
  set(place: ConversationKey, contextId: string): void
}

export interface CallSettings extends Pick<CallsOptions, 'auth' | 'fetch' | 'headers'> {
  readonly reach: ResolveAgent | undefined
  readonly self: ReceivingAgent
  readonly conversations: Conversations
}

export function readCallSettings({ profile, reach }: Agent, options: CallsOptions = {}): CallSettings {
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
    conversations: createContexts(),
  }
}

/** For the journal and for errors: without what may be a secret. */
export function nameOfTarget(target: CallTarget): string {
  if (typeof target === 'string' || target instanceof URL) return bare(`${target}`)
  if ('service' in target && 'card' in target) return cardName(target.card) ?? 'an agent'
  if ('profile' in target && isObject(target.profile)) return cardName(target.profile) ?? 'an agent'
  return cardName(target) ?? 'an agent'
}

/** A call as it was asked for, with what it may use. */
export interface CallPlan {
  /** Names it in the journal. */
  readonly name: string
  readonly target: CallTarget
  /** As far as it is known before it is reached. */
  readonly targetName: string
  readonly parts: readonly Part[]
  readonly options: CallOptions
  /** What the other agent is told; without the deadline, which is set when it begins. */
  readonly lineage: Lineage
  /** Why nothing may be sent. */
  readonly refusal?: Error
}

function createContexts(): Conversations {
  const known = new BoundedMap<string, string>(limit)
  const textOf = ({ owner, contextId, callee }: ConversationKey) => JSON.stringify([owner, contextId, callee])
  return {
    get: (place) => known.get(textOf(place)),
    set: (place, contextId) => known.set(textOf(place), contextId),
  }
}

function bare(address: string): string {
  if (!URL.canParse(address)) return address.slice(0, 200)
  const { origin, host, pathname } = new URL(address)
  return `${origin === 'null' ? host : origin}${pathname}`.slice(0, 200)
}

function cardName(card: unknown): string | undefined {
  return isObject(card) && 'name' in card && typeof card.name === 'string' ? card.name : undefined
}
