import { readTrace, type Trace, traceHeaders } from '../base/trace-context.ts'
import type { MeshCard } from './envelope.ts'
import { MeshError } from './errors.ts'
import type { SchemaVersion } from './payloads.ts'

/**
 * Envelopes have no place for a trace. Over HTTP it is in headers; over a WebSocket lines before the envelope in its
 * frame take their place, for peers whose card says that they know it.
 */

/** What a card says under `metadata`. */
const traceContext = 'trace_context'

/** Characters that the lines may have. */
const longest = 2_048

/** What this implementation speaks. */
const schemaVersions: readonly SchemaVersion[] = ['1.0.0', '1.1.0']

export function knowsFrames(card: MeshCard | undefined): boolean {
  return card?.metadata?.[traceContext] === true
}

export function writeFrame(text: string, trace: Trace | undefined): string {
  const lines = Object.entries(traceHeaders(trace)).map(([name, value]) => `${name}: ${value}\n`)
  return lines.length === 0 ? text : `${lines.join('')}\n${text}`
}

export function readFrame(frame: string): { readonly text: string; readonly trace?: Trace | undefined } {
  // An envelope begins with a brace.
  if (!frame.startsWith('traceparent: ')) return { text: frame }
  const end = frame.slice(0, longest).indexOf('\n\n')
  if (end < 0) return { text: frame }
  const lines = new Map(frame.slice(0, end).split('\n').map(pairIn))
  const trace = readTrace(lines.get('traceparent'), () => lines.get('tracestate'))
  return { text: frame.slice(end + 2), trace }
}

export interface Agreement {
  readonly protocol: string
  readonly schemaVersion: SchemaVersion
}

/** The highest protocol that both have, and the highest schemas of that major version; throws if there is none. */
export function agree(ours: MeshCard, theirs: MeshCard): Agreement {
  const protocol = highest(ours.supported_protocols.filter((each) => theirs.supported_protocols.includes(each)))
  const major = protocol && numbersIn(protocol)[0]
  const common = schemaVersions.filter((each) => schemaVersionsOf(theirs).includes(each))
  const schemaVersion = highest(common.filter((each) => numbersIn(each)[0] === major)) as SchemaVersion | undefined
  if (protocol !== undefined && schemaVersion !== undefined) return { protocol, schemaVersion }
  const what = protocol === undefined ? 'protocol' : 'version of the schemas'
  throw new MeshError('VALIDATION_FAILED', `There is no ${what} that both of us speak.`, {
    details: { supported_protocols: [...ours.supported_protocols], schema_versions: [...schemaVersions] },
  })
}

/** Our card as a peer can read it that speaks this version; without one, as everybody can. */
export function cardFor(card: MeshCard, version: SchemaVersion = '1.0.0'): MeshCard {
  const { schema_versions: _, metadata: said, ...rest } = card
  const metadata = { ...said, [traceContext]: true }
  if (version === '1.1.0') return { ...rest, metadata, schema_versions: schemaVersions }
  return { ...rest, metadata: { ...metadata, schema_versions: [...schemaVersions] } }
}

/** Version 1.0.0 has no member for them, so its peers have them in the metadata; who has none speaks 1.0.0. */
export function schemaVersionsOf({ schema_versions, metadata }: MeshCard): readonly string[] {
  if (schema_versions) return schema_versions
  const listed = metadata?.schema_versions
  return Array.isArray(listed) && listed.length > 0 ? listed.map(String) : ['1.0.0']
}

function pairIn(line: string): [string, string] {
  const at = line.indexOf(': ')
  return [line.slice(0, Math.max(at, 0)), line.slice(at + 2)]
}

function highest(versions: readonly string[]): string | undefined {
  const known = versions.filter((version) => /^(?:A2A\/)?[0-9]+(?:\.[0-9]+)+$/.test(version))
  return known.toSorted((one, other) => compare(numbersIn(other), numbersIn(one)))[0]
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (const [at, number] of one.entries()) {
    const difference = number - (other[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function numbersIn(version: string): readonly number[] {
  return version.replace('A2A/', '').split('.').map(Number)
}
