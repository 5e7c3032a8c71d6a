/** As much as the tests use of it; it has no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  // biome-ignore lint/style/noDefaultExport: so it is.
  export default class Provider {
    constructor(issuer: string, configuration: object)
    readonly Grant: new (of: {
      accountId: string
      clientId: string
    }) => Grant
    on(event: string, listen: (token: { readonly jti: string }) => void): this
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ readonly params: Readonly<Record<string, string>> }>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  /** Keeps what is given out, for a provider. Its clock may be wrong by so many seconds. */
  export function createMemoryAdapter(clockTolerance: number): (name: string) => object
}
