import { BoundedMap } from '../base/bounded-map.ts'
import type { RegistryEntry } from './entry.ts'

/** Agents whose probes are kept. */
const maxAgents = 1_000

/** Probes that are kept of an agent. */
const maxProbes = 100

/** A check of an agent. */
export interface Probe {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly isUp: boolean
  /** In milliseconds. */
  readonly latency: number
  readonly problem?: string
}

/** Called when an agent was checked. Must not throw. */
export type OnProbe = (id: RegistryEntry['id'], probe: Probe) => void

/** Remembers the last probes of each agent in bounded memory. */
export interface ProbeRecord {
  readonly add: OnProbe
  /** Oldest first. */
  of(id: RegistryEntry['id']): readonly Probe[]
}

export function createProbeRecord(): ProbeRecord {
  const probes = new BoundedMap<string, readonly Probe[]>(maxAgents)
  const of = (id: string) => probes.get(id) ?? []
  return { of, add: (id, probe) => probes.set(id, [...of(id), probe].slice(-maxProbes)) }
}
