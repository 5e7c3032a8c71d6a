import { readTrace, type Trace, traceHeaders } from '../core/base/trace-context.ts'
import type { MeshCard } from './envelope.ts'
import { MeshError } from './errors.ts'
import type { SchemaVersion } from './payloads.ts'

/**
 * The member of a card's `metadata` that announces support for traces over WebSockets. Envelopes have no field for a
 * trace: HTTP carries it in headers, and a WebSocket frame in header lines in front of the envelope.
 */
const traceFlag = 'trace_context'

/** Maximum length of the header lines in characters. */
const maxTraceLength = 2_048

/** The schema versions that this implementation supports. */
const supportedVersions: readonly SchemaVersion[] = ['1.0.0', '1.1.0']

export function supportsTraceFrames(card: MeshCard | undefined): boolean {
  return card?.metadata?.[traceFlag] === true
}

export function encodeFrame(text: string, trace: Trace | undefined): string {
  const lines = Object.entries(traceHeaders(trace)).map(([name, value]) => `${name}: ${value}\n`)
  return lines.length === 0 ? text : `${lines.join('')}\n${text}`
}

export function decodeFrame(frame: string): { readonly text: string; readonly trace?: Trace | undefined } {
  // An envelope starts with a brace.
  if (!frame.startsWith('traceparent: ')) return { text: frame }
  const end = frame.slice(0, maxTraceLength).indexOf('\n\n')
  if (end < 0) return { text: frame }
  const lines = new Map(frame.slice(0, end).split('\n').map(readHeaderLine))
  const trace = readTrace(lines.get('traceparent'), () => lines.get('tracestate'))
  return { text: frame.slice(end + 2), trace }
}

export interface VersionAgreement {
  readonly protocol: string
  readonly schemaVersion: SchemaVersion
}

/**
 * Picks the highest common protocol, and the highest common schema version of its major version. Throws without one.
 */
export function negotiateVersions(own: MeshCard, peer: MeshCard): VersionAgreement {
  const protocol = highest(own.supported_protocols.filter((name) => peer.supported_protocols.includes(name)))
  const major = protocol && versionNumbers(protocol)[0]
  const ownVersions = ownSchemaVersions(own)
  const common = ownVersions.filter((version) => schemaVersionsOf(peer).includes(version))
  const schemaVersion = highest(common.filter((version) => versionNumbers(version)[0] === major)) as
    | SchemaVersion
    | undefined
  if (protocol !== undefined && schemaVersion !== undefined) return { protocol, schemaVersion }
  const missing = protocol === undefined ? 'protocol' : 'schema version'
  throw new MeshError('VALIDATION_FAILED', `There is no ${missing} that both agents support.`, {
    details: { supported_protocols: [...own.supported_protocols], schema_versions: [...ownVersions] },
  })
}

/** The card in the format of a schema version. Defaults to 1.0.0, which every peer reads. */
export function cardFor(card: MeshCard, version: SchemaVersion = '1.0.0'): MeshCard {
  const { schema_versions: _, metadata: ownMetadata, ...rest } = card
  const versions = ownSchemaVersions(card)
  const { schema_versions: __, ...others } = ownMetadata ?? {}
  const metadata = { ...others, [traceFlag]: true }
  if (version === '1.1.0') return { ...rest, metadata, schema_versions: versions }
  return { ...rest, metadata: { ...metadata, schema_versions: [...versions] } }
}

/** The schema versions of this peer: those that its author lists in the card, or all. Throws for unsupported ones. */
export function ownSchemaVersions(card: MeshCard): readonly SchemaVersion[] {
  if (!card.schema_versions && !card.metadata?.schema_versions) return supportedVersions
  const listed = schemaVersionsOf(card)
  const unsupported = listed.filter((version) => !supportedVersions.includes(version as SchemaVersion))
  if (unsupported.length === 0) return supportedVersions.filter((version) => listed.includes(version))
  throw new TypeError(
    `card.schema_versions: ${unsupported.join(', ')} is not supported; expected some of ${supportedVersions.join(', ')}.`,
  )
}

/** Version 1.0.0 has no member for them, so they are in the metadata; without them, the peer supports 1.0.0. */
export function schemaVersionsOf({ schema_versions, metadata }: MeshCard): readonly string[] {
  if (schema_versions) return schema_versions
  const listed = metadata?.schema_versions
  return Array.isArray(listed) && listed.length > 0 ? listed.map(String) : ['1.0.0']
}

function readHeaderLine(line: string): [string, string] {
  const at = line.indexOf(': ')
  return [line.slice(0, Math.max(at, 0)), line.slice(at + 2)]
}

function highest(versions: readonly string[]): string | undefined {
  const comparable = versions.filter((version) => /^(?:A2A\/)?[0-9]+(?:\.[0-9]+)+$/.test(version))
  return comparable.toSorted((one, other) => compare(versionNumbers(other), versionNumbers(one)))[0]
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (const [at, number] of one.entries()) {
    const difference = number - (other[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function versionNumbers(version: string): readonly number[] {
  return version.replace('A2A/', '').split('.').map(Number)
}
