import { readTrace, type Trace } from '../../base/trace-context.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { parseVersion } from '../../dialects/negotiate.ts'
import type { Incoming } from '../../http/exchange.ts'
import { invalidParams } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/model.ts'
import type { Call } from '../../protocol/service.ts'
import type { WireOptions } from './options.ts'

/** What a caller says beside the body, in headers or in the query (A2A 1.0 §3.2.6). */

/** The Major.Minor that the caller speaks, if it says so. */
export function versionOf(incoming: Incoming): string | undefined {
  return parseVersion(incoming.header('a2a-version')) ?? parseVersion(queryOf(incoming, 'A2A-Version'))
}

/** Headers of an answer that also name the extensions at work, as the dialect calls them. */
export function namingExtensions(
  headers: Readonly<Record<string, string>>,
  { activated }: Call,
  { version }: Dialect,
): Readonly<Record<string, string>> {
  if (!activated || activated.size === 0) return headers
  return { ...headers, [version.startsWith('0.') ? 'x-a2a-extensions' : 'a2a-extensions']: [...activated].join(', ') }
}

/** Whether the caller asks for a stream where the operation does not tell. */
export function acceptsStream(incoming: Incoming): boolean {
  return incoming.header('accept')?.includes('text/event-stream') === true
}

/** The generation after which a broken stream is to go on. `EventSource` sends the header by itself. */
export function resumePointOf(incoming: Incoming): number | undefined {
  const header = incoming.header('last-event-id')
  if (header !== undefined) return readGeneration('Last-Event-ID', header)
  const query = queryOf(incoming, 'lastEventId')
  return query === undefined ? undefined : readGeneration('lastEventId', query)
}

/** A call from the wire. A class, so that what few calls need is made only when it is asked for. */
export class WireCall implements Call {
  readonly principal: Principal
  readonly idempotencyKey: string | undefined
  readonly extensions: readonly string[] | undefined
  readonly activated: Set<string> | undefined
  readonly trace: Trace | undefined
  readonly #incoming: Incoming
  readonly #originOf: WireOptions['originOf']

  constructor(incoming: Incoming, principal: Principal, { originOf }: Pick<WireOptions, 'originOf'>) {
    this.principal = principal
    this.idempotencyKey = idempotencyKeyOf(incoming)
    this.extensions = extensionsOf(incoming)
    this.activated = this.extensions && new Set()
    this.trace = traceOf(incoming)
    this.#incoming = incoming
    this.#originOf = originOf
  }

  get signal(): AbortSignal {
    return this.#incoming.signal
  }

  get origin(): string | undefined {
    return this.#originOf?.(this.#incoming)
  }
}

export function idempotencyKeyOf(incoming: Incoming): string | undefined {
  const key = incoming.header('idempotency-key')
  if (key !== undefined && !/^[ -~]{1,255}$/.test(key)) {
    throw invalidParams('Idempotency-Key', 'expected 1 to 255 printable ASCII characters')
  }
  return key
}

function queryOf({ query }: Incoming, name: string): string | undefined {
  return query === '' ? undefined : (new URLSearchParams(query).get(name) ?? undefined)
}

function readGeneration(field: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw invalidParams(field, 'expected the number of an event, an integer from 0 on')
  return Number(text)
}

/** The extensions that the caller knows, by their URIs. Before 1.0 the header had another name. */
function extensionsOf(incoming: Incoming): readonly string[] | undefined {
  const named = incoming.header('a2a-extensions')
  const formerly = incoming.header('x-a2a-extensions')
  if (named === undefined && formerly === undefined) return undefined
  const uris = `${named ?? ''},${formerly ?? ''}`.split(',').map((uri) => uri.trim())
  return [...new Set(uris)].filter((uri) => uri !== '')
}

/** The trace of the caller (W3C Trace Context), if it tells one. */
function traceOf(incoming: Pick<Incoming, 'header'>): Trace | undefined {
  return readTrace(incoming.header('traceparent'), () => incoming.header('tracestate'))
}
