import type { AgentInterface } from '../../protocol/card.ts'
import type { TypeOf } from '../shape.ts'
import type { Addresses } from './card-schema.ts'

/** The interfaces of a card, the preferred one first. `unsaid` is their version if the card names none. */
export function interfacesOf(addresses: TypeOf<typeof Addresses>, unsaid: string): readonly AgentInterface[] {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces = [], protocolVersion = unsaid } = addresses
  const version = versionOf(protocolVersion) ?? unsaid
  const all = [{ url, transport: preferredTransport }, ...additionalInterfaces].map(
    ({ url, transport }): AgentInterface => ({
      url,
      binding: otherBindings.get(transport) ?? transport,
      protocolVersion: version,
    }),
  )
  return withoutRepeats(all)
}

/** The main one is often listed once more among the others. */
export function withoutRepeats(interfaces: readonly AgentInterface[]): readonly AgentInterface[] {
  const first = new Map(interfaces.toReversed().map((each) => [JSON.stringify([each.url, each.binding]), each]))
  return interfaces.filter((each) => first.get(JSON.stringify([each.url, each.binding])) === each)
}

const otherBindings: ReadonlyMap<string, string> = new Map([
  ['REST', 'HTTP+JSON'],
  ['HTTP_JSON', 'HTTP+JSON'],
])

/** The sample card of every version since 0.2.5 says 0.2.9, which never was. */
function versionOf(text: string): string | undefined {
  return text === '0.2.9' ? '0.3' : /^\d{1,4}\.\d{1,4}/.exec(text)?.[0]
}
