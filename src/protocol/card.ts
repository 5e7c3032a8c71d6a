import type { JsonObject } from './model.ts'

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
}
