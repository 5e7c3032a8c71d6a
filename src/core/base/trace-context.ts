import { toHex } from './hash.ts'
import { defined } from './json.ts'

const version00 = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Later versions start alike and may append fields. */
const laterVersion =
  /^(?!ff|00)[0-9a-f]{2}(-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-)([0-9a-f]{2})(?:-[\x21-\x7e]*)?$/

const maxParentLength = 512

const member = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Members and characters that are passed on, and characters that are read. */
const stateLimits = { members: 32, length: 512, read: 16_384 }

/** A position in a distributed trace (W3C Trace Context). */
export interface Trace {
  /** `00-<trace id>-<span id>-<flags>` */
  readonly traceparent: string
  readonly tracestate?: string
}

/** The headers, or metadata members, that carry a trace. */
export function traceHeaders(trace: Trace | undefined): Readonly<Record<string, string>> {
  if (!trace) return {}
  const { traceparent, tracestate } = trace
  return defined({ traceparent, tracestate })
}

export function spanIdOf({ traceparent }: Trace): string {
  return traceparent.slice(36, 52)
}

/** A new span in the trace of `parent`. Without a parent, it starts a trace. */
export function startSpan(parent: Trace | undefined): Trace {
  const spanId = randomHex(8)
  // A new trace counts as sampled: the agents that are called within it decide for themselves whether they record it.
  if (!parent) return { traceparent: `00-${randomHex(16)}-${spanId}-01` }
  const { traceparent } = parent
  return { ...parent, traceparent: `${traceparent.slice(0, 36)}${spanId}${traceparent.slice(52)}` }
}

/** 0 to 255; the lowest bit is the sampled flag. */
export function traceFlagsOf({ traceparent }: Trace): number {
  return Number.parseInt(traceparent.slice(53, 55), 16)
}

/** Ids by which the operator finds the log lines of a request. */
export interface RequestIds {
  /** From `X-Request-Id`, set by the caller or a proxy. */
  readonly requestId?: string
  readonly traceId?: string
}

/** Callers choose these values and they are logged, so they must look like ids. */
export function requestIdsOf(incoming: { header(name: string): string | undefined }): RequestIds {
  const requestId = incoming.header('x-request-id')
  const trace = readTrace(incoming.header('traceparent'))
  return defined({
    requestId: requestId !== undefined && /^[\w.:/+=-]{1,128}$/.test(requestId) ? requestId : undefined,
    traceId: trace && traceIdOf(trace),
  })
}

/** Reads the trace headers of a caller. A malformed trace is ignored, never an error. */
export function readTrace(traceparent: string | undefined, tracestate?: () => string | undefined): Trace | undefined {
  if (traceparent === undefined) return undefined
  const parent = readParent(traceparent)
  if (parent === undefined) return undefined
  const state = readState(tracestate?.())
  return state === undefined ? { traceparent: parent } : { traceparent: parent, tracestate: state }
}

export function traceIdOf({ traceparent }: Trace): string {
  return traceparent.slice(3, 35)
}

/** Never all zeros, which trace context forbids. */
function randomHex(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length))
  bytes[0] = (bytes[0] ?? 0) | 1
  return toHex(bytes)
}

function readParent(text: string): string | undefined {
  const header = text.trim()
  if (version00.test(header)) return header
  if (header.length > maxParentLength) return undefined
  const [, ids, flags] = laterVersion.exec(header) ?? []
  if (ids === undefined || flags === undefined) return undefined
  // The sampled flag is the only flag known of later versions.
  return `00${ids}0${Number.parseInt(flags, 16) & 1}`
}

/** A malformed list is dropped; a list that is too long loses its end. */
function readState(text: string | undefined): string | undefined {
  if (text === undefined || text.length > stateLimits.read) return undefined
  const members = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
  const names = new Set(members.map((item) => item.slice(0, item.indexOf('='))))
  if (members.length === 0 || members.length > stateLimits.members || names.size < members.length) return undefined
  if (!members.every((item) => member.test(item))) return undefined
  while (members.join(',').length > stateLimits.length) members.pop()
  return members.length === 0 ? undefined : members.join(',')
}
