/** Types for the parts that the tests use. The package has none. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  // biome-ignore lint/style/noDefaultExport: the package has a default export
  export default class Provider {
    constructor(issuer: string, configuration: object)
    readonly Grant: new (options: {
      accountId: string
      clientId: string
    }) => Grant
    on(event: string, listener: (token: { readonly jti: string }) => void): this
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ readonly params: Readonly<Record<string, string>> }>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  /** The in-memory store of a provider. The tolerance is in seconds. */
  export function createMemoryAdapter(clockTolerance: number): (name: string) => object
}
