import type { MeshCard } from '../mesh/envelope.ts'
import type { JsonObject } from '../protocol/model.ts'

/** An agent that the registry knows: a peer of the mesh, or one that speaks A2A. */
export type RegistryEntry = MeshEntry | A2AEntry
export type EntryKind = RegistryEntry['kind']

interface EntryBase {
  /** The `agent_id` of a peer; for A2A, where the card is. */
  readonly id: string
  readonly name: string
  /** Where it is asked. */
  readonly endpoint: string
  /** Who put it here and may change it; nobody but the operator if it is missing. */
  readonly owner?: string
  /** When it was last heard of, in milliseconds since 1970. */
  readonly seen: number
  /** Why it is not healthy although it was heard of. */
  readonly trouble?: Trouble
}

/** It said so, it did not answer, or it answers what nobody can use. */
export type Trouble = 'said' | 'unreachable' | 'unusable'

export interface MeshEntry extends EntryBase {
  readonly kind: 'mesh'
  readonly card: MeshCard
  /** The key with which it registered; without one, nobody has proven to be it. */
  readonly fingerprint?: string
}

export interface A2AEntry extends EntryBase {
  readonly kind: 'a2a'
  /** The card as far as it is believed, in the form in which it came. */
  readonly card: JsonObject
  readonly about: About
  /** There is none if the card came in a catalog. */
  readonly cardUrl?: string
  readonly etag?: string
  /** When it came here, and when its card last changed. */
  readonly added: number
  readonly changed: number
  /** How often in a row it could not be read. */
  readonly failures: number
  readonly sightings: Sightings
}

/** What a card says, whatever its version. */
export interface About {
  readonly description: string
  readonly version: string
  readonly skills: readonly SkillInfo[]
  /** Such as `streaming`, and the extensions by their URIs. */
  readonly features: readonly string[]
}

export interface SkillInfo {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
}

/** What was seen of an agent; nothing if nobody has looked. */
export interface Sightings {
  /** Its card could be read. */
  readonly reachable?: Sighting
  /** Its card has what its version asks for, and names a way that we can go. */
  readonly conforms?: Sighting
  /** It was sent a message, and answered or completed the task. */
  readonly completed?: Sighting
  /** Its signatures, if there are any. */
  readonly signature?: Sighting
}

export interface Sighting {
  readonly ok: boolean
  /** Milliseconds since 1970. */
  readonly at: number
  /** Milliseconds that it took. */
  readonly latency?: number
  /** What was wrong. */
  readonly problem?: string
}
