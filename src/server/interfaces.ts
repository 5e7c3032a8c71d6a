import type { Binding, ServerDialect } from '../dialects/dialect.ts'
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
  const addresses: Readonly<Partial<Record<Binding, string>>> = {
    JSONRPC: `${origin}${path}`,
    'HTTP+JSON': origin,
    ...(grpc && { GRPC: dialled(origin) }),
  }
  const versions = [...new Set(dialects.map(({ version }) => version))]
  return versions.flatMap((protocolVersion) => {
    const spoken = dialects.filter(({ version }) => version === protocolVersion).flatMap(({ bindings }) => bindings)
    return Object.entries(addresses)
      .filter(([binding]) => spoken.includes(binding as Binding))
      .map(([binding, url]) => ({ url, binding, protocolVersion, ...(tenant && { tenant }) }))
  })
}

/** What clients of gRPC dial: host and port, and nothing else. */
function dialled(origin: string): string {
  const { protocol, hostname, port } = new URL(origin)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
