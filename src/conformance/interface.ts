import { defined, isList, isObject, type JsonObject } from '../core/base/json.ts'
import { isLegacyVersion, type ProtocolVersion, protocolVersions } from '../core/dialects/versions.ts'

/** The protocol versions that the suite can judge. */
export type Version = ProtocolVersion

/** Whether a version has the form of 1.0. */
export function isCurrent(version: Version): boolean {
  return !isLegacyVersion(version)
}

/** The bindings that the suite can speak, and the card, which has rules of its own. */
export type Subject = 'CARD' | Binding

export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

/** An endpoint that the card of an agent declares, in one protocol version. */
export interface Interface {
  readonly version: Version
  readonly binding: Subject
  readonly url: string
  readonly tenant?: string
}

/** The interfaces of a card that the suite can judge, once each. `probed` is the version of a card that fits two. */
export function interfacesOf(card: JsonObject, cardUrl: string, probed?: Version): readonly Interface[] {
  const all = [...currentInterfaces(card), ...legacyInterfaces(card, probed)].map((each) => ({
    ...each,
    url: absolute(each, cardUrl),
  }))
  return all.filter(
    ({ version, binding }, index) =>
      all.findIndex((other) => other.version === version && other.binding === binding) === index,
  )
}

/** The extensions that callers of an agent must announce. */
export function requiredExtensions({ capabilities }: JsonObject): readonly string[] {
  const extensions = isObject(capabilities) && isList(capabilities.extensions) ? capabilities.extensions : []
  return extensions.filter(isObject).flatMap(({ uri, required }) => (required === true ? [`${uri}`] : []))
}

function currentInterfaces({ supportedInterfaces }: JsonObject): readonly Interface[] {
  if (!isList(supportedInterfaces)) return []
  return supportedInterfaces.filter(isObject).flatMap(({ url, protocolBinding, protocolVersion, tenant }) => {
    // An interface without a version breaks a rule of cards, and is judged as what its form says.
    const version = protocolVersion === undefined ? '1.0' : versionOf(protocolVersion)
    const binding = bindingOf(protocolBinding)
    if (!version || !binding || typeof url !== 'string' || !hasBinding(version, binding)) return []
    return [
      defined({ version, binding, url, tenant: typeof tenant === 'string' && tenant !== '' ? tenant : undefined }),
    ]
  })
}

function legacyInterfaces(card: JsonObject, probed: Version | undefined): readonly Interface[] {
  const { url, protocolVersion, preferredTransport, additionalInterfaces, authentication } = card
  if (typeof url !== 'string') return []
  const oldest: Version = authentication !== undefined || !('defaultInputModes' in card) ? '0.1' : '0.2'
  const version = protocolVersion === undefined ? (probed ?? oldest) : versionOf(protocolVersion)
  if (version === undefined || isCurrent(version)) return []
  const others = isList(additionalInterfaces) ? additionalInterfaces.filter(isObject) : []
  return [{ url, transport: preferredTransport ?? 'JSONRPC' }, ...others].flatMap((each) => {
    const binding = bindingOf(each.transport)
    if (!binding || typeof each.url !== 'string' || !hasBinding(version, binding)) return []
    return [{ version, binding, url: each.url }]
  })
}

/** REST and gRPC came with 0.3: what older cards call so has no common form. */
function hasBinding(version: Version, binding: Binding): boolean {
  return binding === 'JSONRPC' || (version !== '0.2' && version !== '0.1')
}

function versionOf(text: unknown): Version | undefined {
  const [minor] = /^\d+\.\d+/.exec(`${text}`) ?? []
  return protocolVersions.find((version) => version === minor)
}

function bindingOf(text: unknown): Binding | undefined {
  return text === 'JSONRPC' || text === 'HTTP+JSON' || text === 'GRPC' ? text : undefined
}

function absolute({ url, binding }: Interface, base: string): string {
  // An address of gRPC is often only a host and a port.
  if (binding === 'GRPC' && !/^https?:/i.test(url))
    return `${base.startsWith('http:') ? 'http' : 'https'}://${url.replace(/^[a-z0-9]+:\/+/i, '')}`
  const full = URL.canParse(url, base) ? new URL(url, base).href : url
  return binding === 'HTTP+JSON' ? full.replace(/\/$/, '') : full
}
