import { isList, isObject, type Json, type JsonObject } from '../../base/json.ts'
import { A2AError, invalidParams } from '../errors.ts'

/** So long no chain of agents is that does anything of use. */
const longestChain = 64

const longestName = 256

export interface Ancestor {
  /** Its name. */
  readonly agent: string
  /** By which an agent finds itself in a chain. */
  readonly id: string
  /** The task in which it asks. */
  readonly taskId?: string
}

/** On whose behalf an agent is asked, and within what limits. */
export interface Lineage {
  /** Who asked whom, the first one first; the last one asks now. Empty if nobody but the caller is behind it. */
  readonly chain: readonly Ancestor[]
  /** Until when an answer is of use, in milliseconds since 1970. */
  readonly deadline?: number
  /** How many more calls may be made for it, by this agent and those that it asks. */
  readonly budget?: number
}

/**
 * What a message says of it. It names for whom it was written: whoever else gets it stands behind an agent that passes
 * metadata on and knows nothing of chains, and so counts that one in.
 */
export function readLineage(metadata: JsonObject | undefined, ids: readonly string[]): Lineage {
  const told = metadata?.[lineageExtension]
  if (told === undefined) return noLineage
  if (!isObject(told)) throw malformed('', 'an object')
  const { chain = [], to, deadline, budget } = told
  if (!isList(chain) || chain.length > longestChain) throw malformed('.chain', `a list of at most ${longestChain}`)
  const ancestors = chain.map((each, at) => readAncestor(each, `.chain[${at}]`))
  const addressee = to === undefined ? undefined : readAncestor(to, '.to')
  const moment = deadline === undefined ? undefined : readMoment(deadline)
  if (budget !== undefined && !(typeof budget === 'number' && Number.isInteger(budget) && budget >= 0)) {
    throw malformed('.budget', 'a whole number from 0 on')
  }
  return {
    chain: addressee && !ids.includes(addressee.id) ? [...ancestors, addressee] : ancestors,
    ...(moment !== undefined && { deadline: moment }),
    ...(typeof budget === 'number' && { budget }),
  }
}

export function writeLineage({ chain, deadline, budget }: Lineage, to: Ancestor): JsonObject {
  return {
    chain: chain.map(writeAncestor),
    to: writeAncestor(to),
    ...(deadline !== undefined && { deadline: new Date(deadline).toISOString() }),
    ...(budget !== undefined && { budget }),
  }
}

/** As far as it can be known by an agent's card. Not a secret, and no proof: whoever is asked trusts its caller in this. */
export function identityOf({ name, description, provider }: Identity): string {
  return fingerprint(JSON.stringify([name, description ?? name, provider?.organization ?? '']))
}

export interface CalledAgent {
  readonly agent: string
  readonly ids: readonly string[]
  readonly maxDepth: number
}

/** Throws, in words that also a model understands, unless the agent may work on this. */
export function checkLineage({ chain, deadline }: Lineage, self: CalledAgent, now: number): void {
  const { ids, agent, maxDepth } = self
  const path = [...chain.map((each) => each.agent), agent].join(' → ')
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
    throw lineageError('past-deadline', `The time for this has passed: an answer was of use until ${ended}.`)
  }
}

/** The extension by which agents that ask each other tell who asked whom. Its member of a message's metadata. */
export const lineageExtension = 'https://parley.dev/ext/lineage/v1'

export const noLineage: Lineage = { chain: [] }

export function lineageError(reason: string, text: string): A2AError {
  const field = `message.metadata["${lineageExtension}"]`
  return new A2AError('invalid-params', text, { metadata: { reason }, violations: [{ field, description: reason }] })
}

function malformed(place: string, expected: string): A2AError {
  return invalidParams(`message.metadata["${lineageExtension}"]${place}`, `expected ${expected}`)
}

function readAncestor(told: Json, place: string): Ancestor {
  if (!isObject(told)) throw malformed(place, 'an object')
  const { agent, id, taskId } = told
  if (!isName(agent) || !isName(id) || (taskId !== undefined && !isName(taskId))) {
    throw malformed(place, 'agent, id and taskId as short texts')
  }
  return { agent, id, ...(taskId !== undefined && { taskId }) }
}

function isName(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestName
}

function readMoment(told: Json): number {
  const moment = typeof told === 'string' || typeof told === 'number' ? new Date(told).getTime() : Number.NaN
  if (Number.isNaN(moment)) throw malformed('.deadline', 'a moment of ISO 8601')
  return moment
}

function writeAncestor({ agent, id, taskId }: Ancestor): JsonObject {
  return { agent: agent.slice(0, longestName), id, ...(taskId !== undefined && { taskId }) }
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
