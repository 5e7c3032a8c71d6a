import type { RegistryEntry, Sighting, Sightings, SkillInfo } from './entry.ts'

export interface ListedSighting extends Omit<Sighting, 'at'> {
  /** ISO 8601. */
  readonly at: string
}

/** An agent as others are told of it. */
export interface AgentListing {
  readonly id: string
  readonly kind: RegistryEntry['kind']
  readonly name: string
  readonly description: string
  readonly version: string
  /** Where it is asked. */
  readonly endpoint: string
  readonly cardUrl?: string
  readonly skills: readonly SkillInfo[]
  readonly capabilities: readonly string[]
  readonly status: 'healthy' | 'unhealthy'
  /** ISO 8601. */
  readonly lastSeen: string
  /** What was seen of it. */
  readonly seen: Readonly<Partial<Record<keyof Sightings, ListedSighting>>>
}

export function listingOf(entry: RegistryEntry, isHealthy: boolean): AgentListing {
  const { id, kind, name, endpoint } = entry
  const status = isHealthy ? 'healthy' : 'unhealthy'
  const lastSeen = new Date(entry.seen).toISOString()
  if (entry.kind === 'mesh') {
    const { description, version, capabilities } = entry.card
    const seen = { reachable: { ok: isHealthy, at: lastSeen } }
    return { id, kind, name, description, version, endpoint, skills: [], capabilities, status, lastSeen, seen }
  }
  const { description, version, skills, features: capabilities } = entry.about
  const where = entry.cardUrl === undefined ? {} : { cardUrl: entry.cardUrl }
  const seen = Object.fromEntries(
    Object.entries(entry.sightings).map(([what, { at, ...more }]: [string, Sighting]) => [
      what,
      { ...more, at: new Date(at).toISOString() },
    ]),
  )
  return { id, kind, name, description, version, endpoint, ...where, skills, capabilities, status, lastSeen, seen }
}
