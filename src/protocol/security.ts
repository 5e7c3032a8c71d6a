import type { Carry } from './model.ts'

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

/** All of these schemes, each with these scopes. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>
