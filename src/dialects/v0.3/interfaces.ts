import type { AgentInterface } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import type { TypeOf } from '../shape.ts'
import type { Addresses } from './card-schemas.ts'

export interface SpokenVersion {
  readonly version: string
  readonly protocolVersion: string
}

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

/** The members for these interfaces: those that were `read`, if they say the same. */
export function addressesOf(
  interfaces: readonly AgentInterface[],
  { version, protocolVersion }: SpokenVersion,
  read: Json | undefined,
): JsonObject {
  const isRead = read !== undefined && isSame(interfacesOf(read as TypeOf<typeof Addresses>, version), interfaces)
  if (isRead) return read as JsonObject
  const spoken = withoutRepeats(interfaces.filter((each) => /^0\.[23]$/.test(each.protocolVersion)))
  const [main] = spoken
  if (main === undefined) throw new A2AError('version-not-supported', `This agent has no interface of A2A ${version}.`)
  return {
    url: main.url,
    preferredTransport: main.binding,
    additionalInterfaces: spoken.map(({ url, binding }) => ({ url, transport: binding })),
    protocolVersion,
  }
}

function isSame(some: readonly AgentInterface[], others: readonly AgentInterface[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others)
}

/** The main one is often listed once more among the others. */
function withoutRepeats(interfaces: readonly AgentInterface[]): readonly AgentInterface[] {
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
