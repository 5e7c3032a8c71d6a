import type { JsonObject } from '../base/json.ts'
import type { Carry } from './model.ts'

export type OAuthFlow = {
  readonly refreshUrl?: string
  /** What each scope allows. */
  readonly scopes: Readonly<Record<string, string>>
} & (
  | {
      readonly type: 'authorization-code'
      readonly authorizationUrl: string
      readonly tokenUrl: string
      readonly pkceRequired?: boolean
    }
  | { readonly type: 'client-credentials'; readonly tokenUrl: string }
  | { readonly type: 'device-code'; readonly deviceAuthorizationUrl: string; readonly tokenUrl: string }
  | { readonly type: 'implicit'; readonly authorizationUrl: string }
  | { readonly type: 'password'; readonly tokenUrl: string }
)

/** How callers prove who they are. */
export type SecurityScheme = (
  | { readonly type: 'api-key'; readonly name: string; readonly location: string }
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat?: string }
  /** One flow: A2A 1.0 has one per scheme, and several flows are several schemes. */
  | { readonly type: 'oauth2'; readonly flow: OAuthFlow; readonly metadataUrl?: string }
  | { readonly type: 'openid'; readonly url: string }
  | { readonly type: 'mutual-tls' }
) & {
  readonly description?: string
  readonly carry?: Carry
}

/** All of these schemes, each with these scopes. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

/** One address at which the agent can be reached. The first is preferred. */
export interface AgentInterface {
  readonly url: string
  readonly binding: string
  /** Major.Minor of the protocol that is spoken there. */
  readonly protocolVersion: string
  readonly tenant?: string
}

export interface AgentExtension {
  readonly uri: string
  readonly description?: string
  readonly required?: boolean
  readonly params?: JsonObject
}

export interface AgentCapabilities {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  readonly extendedCard?: boolean
  readonly extensions?: readonly AgentExtension[]
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

export interface AgentProvider {
  readonly organization: string
  readonly url: string
}

/** A JSON Web Signature over the card, without the payload. */
export interface CardSignature {
  readonly protected: string
  readonly signature: string
  readonly header?: JsonObject
}

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
