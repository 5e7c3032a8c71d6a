const version00 = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Later versions begin in the same way, and may say more. */
const later = /^(?!ff|00)[0-9a-f]{2}(-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-)([0-9a-f]{2})(?:-[\x21-\x7e]*)?$/

const longestParent = 512

const member = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

const most = { members: 32, length: 512, read: 16_384 }

/** Where in a trace something happens, as one tells it to the next (W3C Trace Context). */
export interface Trace {
  /** `00-<trace id>-<span id>-<flags>` */
  readonly traceparent: string
  readonly tracestate?: string
}

/** By which it is told, in headers or metadata. */
export function traceHeaders(trace: Trace | undefined): Readonly<Record<string, string>> {
  if (!trace) return {}
  const { traceparent, tracestate } = trace
  return { traceparent, ...(tracestate !== undefined && { tracestate }) }
}

export function spanIdOf({ traceparent }: Trace): string {
  return traceparent.slice(36, 52)
}

/** 0 to 255; the lowest bit says whether it is recorded. */
export function traceFlagsOf({ traceparent }: Trace): number {
  return Number.parseInt(traceparent.slice(53, 55), 16)
}

/** By which a line of the log is found again, where the request has them. */
export interface RequestIds {
  /** As the caller, or the proxy before us, calls it: `X-Request-Id`. */
  readonly requestId?: string
  readonly traceId?: string
}

/** What callers say goes into the log: no more than an id. */
export function requestIdsOf(incoming: { header(name: string): string | undefined }): RequestIds {
  const requestId = incoming.header('x-request-id')
  const trace = readTrace(incoming.header('traceparent'))
  return {
    ...(requestId !== undefined && /^[\w.:/+=-]{1,128}$/.test(requestId) && { requestId }),
    ...(trace && { traceId: traceIdOf(trace) }),
  }
}

/** What a caller says of its trace. Who says it wrong has none: nothing may fail for it. */
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

function readParent(text: string): string | undefined {
  const given = text.trim()
  if (version00.test(given)) return given
  if (given.length > longestParent) return undefined
  const [, ids, flags] = later.exec(given) ?? []
  if (ids === undefined || flags === undefined) return undefined
  // Of what a later version says, only this one bit is known.
  return `00${ids}0${Number.parseInt(flags, 16) & 1}`
}

/** A list that is malformed anywhere is dropped as a whole; of one that is too long, the end is. */
function readState(text: string | undefined): string | undefined {
  if (text === undefined || text.length > most.read) return undefined
  const members = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
  const names = new Set(members.map((each) => each.slice(0, each.indexOf('='))))
  if (members.length === 0 || members.length > most.members || names.size < members.length) return undefined
  if (!members.every((each) => member.test(each))) return undefined
  while (members.join(',').length > most.length) members.pop()
  return members.length === 0 ? undefined : members.join(',')
}
