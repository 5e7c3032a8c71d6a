import type { Carry, JsonObject } from './model.ts'
import type { SecurityRequirement, SecurityScheme } from './security.ts'

/** What an agent says of itself. */
export interface AgentCard {
  readonly name: string
  readonly description: string
  readonly version: string
  readonly interfaces: readonly AgentInterface[]
  readonly capabilities: AgentCapabilities
  readonly defaultInputModes: readonly string[]
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly AgentSkill[]
  readonly provider?: AgentProvider
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  /** One of them must be met. */
  readonly security?: readonly SecurityRequirement[]
  readonly signatures?: readonly CardSignature[]
  readonly carry?: Carry
}

/** A JSON Web Signature over the card, without the payload. */
export interface CardSignature {
  readonly protected: string
  readonly signature: string
  readonly header?: JsonObject
}

/** One address at which the agent can be reached. The first is preferred. */
export interface AgentInterface {
  readonly url: string
  readonly binding: string
  /** Major.Minor of the protocol that is spoken there. */
  readonly protocolVersion: string
  readonly tenant?: string
}

export interface AgentCapabilities {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  readonly extendedCard?: boolean
  readonly extensions?: readonly AgentExtension[]
}

export interface AgentExtension {
  readonly uri: string
  readonly description?: string
  readonly required?: boolean
  readonly params?: JsonObject
}

export interface AgentProvider {
  readonly organization: string
  readonly url: string
}

export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly security?: readonly SecurityRequirement[]
}
