import type { JsonObject } from '../base/json.ts'
import type { Carry } from './model.ts'

/** An OAuth 2.0 flow of a security scheme, with the endpoints that it needs. */
export type OAuthFlow = {
  /** The URL at which refresh tokens are exchanged. */
  readonly refreshUrl?: string
  /** The description of each scope, by the name of the scope. */
  readonly scopes: Readonly<Record<string, string>>
} & (
  | {
      readonly type: 'authorization-code'
      readonly authorizationUrl: string
      readonly tokenUrl: string
      /** Whether the authorization server requires PKCE (RFC 7636). */
      readonly pkceRequired?: boolean
    }
  | { readonly type: 'client-credentials'; readonly tokenUrl: string }
  | { readonly type: 'device-code'; readonly deviceAuthorizationUrl: string; readonly tokenUrl: string }
  | { readonly type: 'implicit'; readonly authorizationUrl: string }
  | { readonly type: 'password'; readonly tokenUrl: string }
)

/** A security scheme: how callers authenticate. */
export type SecurityScheme = (
  | {
      readonly type: 'api-key'
      /** The name of the header, query parameter or cookie. */
      readonly name: string
      /** `header`, `query` or `cookie`. */
      readonly location: string
    }
  | {
      readonly type: 'http'
      /** The authentication scheme of HTTP, such as `Bearer` or `Basic`. */
      readonly scheme: string
      readonly bearerFormat?: string
    }
  /** One flow: A2A 1.0 has one per scheme, and several flows are several schemes. */
  | {
      readonly type: 'oauth2'
      readonly flow: OAuthFlow
      /** The URL of the authorization server metadata (RFC 8414). */
      readonly metadataUrl?: string
    }
  | {
      readonly type: 'openid'
      /** The URL of the OpenID Connect discovery document. */
      readonly url: string
    }
  | { readonly type: 'mutual-tls' }
) & {
  readonly description?: string
  readonly carry?: Carry
}

/** A combination of security schemes that a caller must satisfy together: required scopes, by scheme name. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

/** An address at which the agent can be reached. The first one on a card is preferred. */
export interface AgentInterface {
  readonly url: string
  /** The transport: `JSONRPC`, `HTTP+JSON` or `GRPC`. */
  readonly binding: string
  /** The protocol version at this address, as Major.Minor. */
  readonly protocolVersion: string
  readonly tenant?: string
}

/** An A2A extension that an agent supports. */
export interface AgentExtension {
  readonly uri: string
  readonly description?: string
  /** Whether the agent rejects callers that do not support the extension. */
  readonly required?: boolean
  readonly params?: JsonObject
}

/** The optional features that an agent supports. */
export interface AgentCapabilities {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  /** Whether authenticated callers can request a more detailed card. */
  readonly extendedCard?: boolean
  /** Whether tasks keep the messages of earlier statuses. Only in cards before 1.0. */
  readonly stateTransitionHistory?: boolean
  readonly extensions?: readonly AgentExtension[]
}

/** A skill that an agent offers. */
export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  /** Example prompts. */
  readonly examples?: readonly string[]
  /** Accepted media types. Default to those of the card. */
  readonly inputModes?: readonly string[]
  /** Produced media types. Default to those of the card. */
  readonly outputModes?: readonly string[]
  /** Alternatives: a caller of the skill must satisfy one of them. */
  readonly security?: readonly SecurityRequirement[]
}

/** The organization that provides an agent. */
export interface AgentProvider {
  readonly organization: string
  readonly url: string
}

/** A JSON Web Signature over the card, without the payload (RFC 7515 appendix F). */
export interface CardSignature {
  /** The protected header, as base64url. */
  readonly protected: string
  /** The signature, as base64url. */
  readonly signature: string
  /** The unprotected header. */
  readonly header?: JsonObject
}

/** An agent card: the self-description that an agent publishes. */
export interface AgentCard {
  readonly name: string
  readonly description: string
  /** The version of the agent, not of the protocol. */
  readonly version: string
  readonly interfaces: readonly AgentInterface[]
  readonly capabilities: AgentCapabilities
  /** Media types that the agent accepts unless a skill has its own. */
  readonly defaultInputModes: readonly string[]
  /** Media types that the agent produces unless a skill has its own. */
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly AgentSkill[]
  readonly provider?: AgentProvider
  readonly documentationUrl?: string
  readonly iconUrl?: string
  /** The security schemes of the agent, by name. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  /** Alternatives: a caller must satisfy one of them. */
  readonly security?: readonly SecurityRequirement[]
  readonly signatures?: readonly CardSignature[]
  readonly carry?: Carry
}
