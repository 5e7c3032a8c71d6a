import { type AgentSummary, type ComposeRequest, protocolVersions, type WireBinding } from 'parley-a2a/operator'
import { hasFeature } from '../../api/session.ts'

type Version = ComposeRequest['dialect']

/** A version and a binding in which an agent can be called. */
export interface WireInterface {
  readonly version: Version
  readonly binding: WireBinding
}

const bindings: Readonly<Record<string, WireBinding>> = { JSONRPC: 'JSONRPC', 'HTTP+JSON': 'REST' }

/** The interfaces that the wire page can call: all of an agent of this server, those of the card of another one. */
export function interfacesOf({ foreign }: AgentSummary): readonly WireInterface[] {
  if (foreign) {
    return foreign.interfaces.flatMap(({ version: name, binding: transport }) => {
      const version = protocolVersions.find((each) => name === each || name.startsWith(`${each}.`))
      const binding = bindings[transport]
      return version && binding ? [{ version, binding }] : []
    })
  }
  const all: readonly WireBinding[] = ['JSONRPC', 'REST', ...(hasFeature('grpc') ? (['GRPC'] as const) : [])]
  return protocolVersions.flatMap((version) => all.map((binding) => ({ version, binding })))
}

/** The wanted interface, or the first one with the same version, or any. */
export function nearestInterface(
  interfaces: readonly WireInterface[],
  version: string,
  binding: string,
): WireInterface | undefined {
  const same = interfaces.filter((each) => each.version === version)
  return same.find((each) => each.binding === binding) ?? same[0] ?? interfaces[0]
}
