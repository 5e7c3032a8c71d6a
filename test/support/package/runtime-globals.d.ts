/** What the pages use of other runtimes, whose types are not installed. */
declare const Bun: {
  serve(options: {
    readonly port?: number
    readonly idleTimeout?: number
    readonly routes?: Readonly<Record<string, (request: Request) => Promise<Response>>>
    fetch(request: Request): Response | Promise<Response>
  }): unknown
}
declare const Deno: {
  serve(options: { readonly port?: number }, handler: (request: Request) => Response | Promise<Response>): unknown
}
