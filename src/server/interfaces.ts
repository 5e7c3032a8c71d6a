import type { ServerDialect } from '../dialects/dialect.ts'
import type { AgentInterface } from '../protocol/card.ts'

export interface InterfaceOptions {
  /** Where JSON-RPC is served. */
  readonly path?: string
  /** Where JSON-RPC is served to speakers of the 0.3 house variant. */
  readonly housePath?: string
  /** Whether gRPC is served at the same port. */
  readonly grpc?: boolean
  /** The tenant that callers name, if several agents share an address. */
  readonly tenant?: string
}

/** Every address of an agent and what is spoken there, the preferred ones first. */
export function interfacesAt(
  origin: string,
  dialects: readonly ServerDialect[],
  { path = '/', grpc = false, tenant }: InterfaceOptions,
): readonly AgentInterface[] {
  const rpc = `${origin}${path}`
  const bindings = [
    { binding: 'JSONRPC', url: rpc, isSpoken: ({ methods }: ServerDialect) => Object.keys(methods).length > 0 },
    { binding: 'HTTP+JSON', url: origin, isSpoken: ({ rest }: ServerDialect) => rest !== undefined },
    { binding: 'GRPC', url: origin, isSpoken: ({ isProto }: ServerDialect) => grpc && isProto === true },
  ]
  const versions = [...new Set(dialects.map(({ version }) => version))]
  return versions.flatMap((protocolVersion) =>
    bindings
      .filter(({ isSpoken }) => dialects.some((dialect) => dialect.version === protocolVersion && isSpoken(dialect)))
      // Only 1.0 knows tenants; older callers reach the one that is mounted without.
      .map(({ binding, url }) => ({ url, binding, protocolVersion, ...(tenant && { tenant }) })),
  )
}
