import { defined, isList, isObject, type Json, type JsonObject } from '../../base/json.ts'
import { A2AError, invalidParams } from '../errors.ts'

/** The URI of the lineage extension: the member of a message's metadata with the chain of agents behind a call. */
export const lineageExtension = 'https://parley.dev/ext/lineage/v1'

/** The header with the number of agents behind a call, for chains through agents that drop the metadata. */
export const hopsHeader = 'a2a-hops'

/** No useful chain of agents is longer. */
const maxChainLength = 64

const maxNameLength = 256

/** An agent in a chain of calls. */
export interface Ancestor {
  /** The name of the agent. */
  readonly agent: string
  /** The identity by which an agent recognises itself in a chain. */
  readonly id: string
  /** The task in which the agent makes the call. */
  readonly taskId?: string
}

/** The chain of agents behind a call, and its limits. */
export interface Lineage {
  /** The agents in the order of their calls; the last one makes this call. Empty if no agent is behind the caller. */
  readonly chain: readonly Ancestor[]
  /** When an answer is no longer useful, in milliseconds since 1970. */
  readonly deadline?: number
  /** How many more calls may be made, by this agent and the agents that it calls. */
  readonly budget?: number
}

export const noLineage: Lineage = { chain: [] }

/** An agent that receives a call, as `checkLineage` needs it. */
export interface ReceivingAgent {
  readonly agent: string
  readonly ids: readonly string[]
  readonly maxDepth: number
}

/**
 * Reads the lineage in a message's metadata. It names its addressee: if that is not this agent (`ids`), an agent that
 * does not support lineage has passed the metadata on, and is added to the chain.
 */
export function readLineage(metadata: JsonObject | undefined, ids: readonly string[]): Lineage {
  const value = metadata?.[lineageExtension]
  if (value === undefined) return noLineage
  if (!isObject(value)) throw malformed('', 'an object')
  const { chain = [], to, deadline, budget } = value
  if (!isList(chain) || chain.length > maxChainLength) throw malformed('.chain', `a list of at most ${maxChainLength}`)
  const ancestors = chain.map((item, index) => readAncestor(item, `.chain[${index}]`))
  const addressee = to === undefined ? undefined : readAncestor(to, '.to')
  const milliseconds = deadline === undefined ? undefined : readTime(deadline)
  if (budget !== undefined && !(typeof budget === 'number' && Number.isInteger(budget) && budget >= 0)) {
    throw malformed('.budget', 'a whole number from 0 on')
  }
  return defined({
    chain: addressee && !ids.includes(addressee.id) ? [...ancestors, addressee] : ancestors,
    deadline: milliseconds,
    budget: typeof budget === 'number' ? budget : undefined,
  })
}

/** Metadata whose lineage has at least as many agents as the caller's hops: the ones that it does not name are unknown. */
export function withHops(
  metadata: JsonObject | undefined,
  hops: number,
  ids: readonly string[],
): JsonObject | undefined {
  const lineage = readLineage(metadata, ids)
  const missing = Math.min(hops, maxChainLength) - lineage.chain.length
  if (missing <= 0) return metadata
  const unknown = Array.from({ length: missing }, () => ({ agent: 'an unknown agent', id: 'unknown' }))
  const chain = [...lineage.chain, ...unknown]
  return { ...metadata, [lineageExtension]: encodeLineage({ ...lineage, chain }) }
}

/** Encodes a lineage for the metadata of a message to the agent `to`. */
export function writeLineage(lineage: Lineage, to: Ancestor): JsonObject {
  return { ...encodeLineage(lineage), to: encodeAncestor(to) }
}

function encodeLineage({ chain, deadline, budget }: Lineage): JsonObject {
  return defined({
    chain: chain.map(encodeAncestor),
    deadline: deadline === undefined ? undefined : new Date(deadline).toISOString(),
    budget,
  })
}

/** Derives an agent's identity from its card. It is neither secret nor proof: an agent trusts its caller in this. */
export function identityOf({ name, description, provider }: Identity): string {
  return fingerprint(JSON.stringify([name, description ?? name, provider?.organization ?? '']))
}

/** Throws if the agent must not work on the call. The messages are written for callers and for language models. */
export function checkLineage({ chain, deadline }: Lineage, receiver: ReceivingAgent, now: number): void {
  const { ids, agent, maxDepth } = receiver
  const path = [...chain.map((ancestor) => ancestor.agent), agent].join(' → ')
  if (chain.some(({ id }) => ids.includes(id))) {
    const advice = 'Do not ask it again: answer with what you have, or ask another agent.'
    throw lineageError('loop', `This would be a loop: ${path}. "${agent}" waits for this answer itself. ${advice}`)
  }
  if (chain.length > maxDepth) {
    const advice = 'Answer with what you have instead of asking others.'
    throw lineageError('too-deep', `Too many agents ask each other: ${path}. At most ${maxDepth} may. ${advice}`)
  }
  if (deadline !== undefined && deadline <= now) {
    const ended = new Date(deadline).toISOString()
    throw lineageError('past-deadline', `The deadline of this call has passed: it was ${ended}.`)
  }
}

export function lineageError(reason: string, text: string): A2AError {
  const field = `message.metadata["${lineageExtension}"]`
  return new A2AError('invalid-params', text, { metadata: { reason }, violations: [{ field, description: reason }] })
}

function malformed(path: string, expected: string): A2AError {
  return invalidParams(`message.metadata["${lineageExtension}"]${path}`, `expected ${expected}`)
}

function readAncestor(value: unknown, path: string): Ancestor {
  if (!isObject(value)) throw malformed(path, 'an object')
  const { agent, id, taskId } = value
  if (!isName(agent) || !isName(id) || (taskId !== undefined && !isName(taskId))) {
    throw malformed(path, `agent, id and taskId as strings of 1 to ${maxNameLength} characters`)
  }
  return defined({ agent, id, taskId })
}

function isName(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxNameLength
}

function readTime(value: Json): number {
  const milliseconds = typeof value === 'string' || typeof value === 'number' ? new Date(value).getTime() : Number.NaN
  if (Number.isNaN(milliseconds)) throw malformed('.deadline', 'a time in ISO 8601')
  return milliseconds
}

function encodeAncestor({ agent, id, taskId }: Ancestor): JsonObject {
  return defined({ agent: agent.slice(0, maxNameLength), id, taskId })
}

interface Identity {
  readonly name: string
  readonly description?: string
  readonly provider?: { readonly organization: string }
}

/** FNV-1a, 64 bits. */
function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text))
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
  return hash.toString(16).padStart(16, '0')
}
