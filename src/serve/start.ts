import { redactSecrets } from '../core/base/error-summary.ts'
import { defined } from '../core/base/json.ts'
import { packageVersion } from '../core/base/package-version.ts'
import { serverDialects } from '../core/dialects/server-dialects.ts'
import type { AuthChoice } from '../core/server/authentication.ts'
import { flattenOptions } from '../core/server/options.ts'
import type { Agents, ServeOptions } from './options.ts'

export interface StartedServer {
  readonly options: ServeOptions
  readonly auth: AuthChoice
  readonly stores: { readonly description: string }
  readonly console: object | undefined
}

/** What the operator wants to know of a server that starts: where it listens, what it speaks, stores and accepts. */
export function describeStart(agents: Agents, { options, auth, stores, console }: StartedServer): object {
  const { host = '127.0.0.1', port = 0, tls, grpc, log, publicUrl } = options
  const { dialects } = flattenOptions({ dialects: options.dialects, auth })
  const protocols = new Set(serverDialects(dialects ? { dialects } : {}).map(({ version }) => version))
  return defined({
    agents: Object.values(agents).map(({ profile }) => profile.name),
    address: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    publicUrl: publicUrl === undefined ? undefined : redactSecrets(publicUrl),
    protocols: [...protocols],
    bindings: ['JSON-RPC', 'REST', ...(grpc ? ['gRPC'] : [])],
    store: log ? 'a log of the program' : stores.description,
    auth: describeAuth(auth),
    console: console !== undefined,
    version: packageVersion,
    runtime: runtimeName(),
  })
}

function describeAuth(auth: AuthChoice): string {
  if (auth === 'none') return 'none: every caller is accepted'
  const schemes = Object.keys(auth.schemes ?? {})
  const anonymous = auth.anonymous ? ['callers without credentials'] : []
  return [...schemes, ...anonymous].join(', ')
}

function runtimeName(): string {
  const { bun, deno, node } = process.versions
  return bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`
}
