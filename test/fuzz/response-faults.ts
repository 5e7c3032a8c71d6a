import { fileURLToPath } from 'node:url'
import { createParser } from 'eventsource-parser'

export interface RawOutcome {
  readonly status: number
  readonly type: string | undefined
  readonly body: string
}

/** Responses must not reveal paths of the code, stack traces and internal errors. */
const internals = [
  fileURLToPath(new URL('../..', import.meta.url)),
  /node_modules|node:internal|file:\/\//,
  /\n\s+at \S|\\n\s+at \S/,
  /\.[tj]s:\d+/,
  /\b(?:Type|Range|Syntax|Reference)Error\b/,
]

/** HTTP requires these codes for unsupported transfer codings and versions. */
const allowedServerErrors: ReadonlySet<number> = new Set([501, 505])

/** Returns why a response is invalid, or undefined. A response is JSON or an event stream, and never an internal error. */
export function faultOfResponse({ status, type, body }: RawOutcome): string | undefined {
  if (!(status >= 200 && status < 500) && !allowedServerErrors.has(status)) return `the status ${status}`
  for (const pattern of internals) {
    if (typeof pattern === 'string' ? body.includes(pattern) : pattern.test(body)) return `internal details: ${pattern}`
  }
  if (body === '') return undefined
  if (type === 'text/event-stream') {
    const faults: (string | undefined)[] = []
    createParser({ onEvent: ({ data }) => faults.push(faultOf(data)) }).feed(body)
    return faults.length === 0 ? 'a stream without an event' : faults.find((fault) => fault !== undefined)
  }
  return type === 'application/json' ? faultOf(body) : `the type ${type}`
}

function faultOf(json: string): string | undefined {
  try {
    const response = JSON.parse(json)
    if (typeof response !== 'object' || response === null) return 'a value that is not an object'
    // -32603 is an internal error.
    return response.error?.code === -32603 ? `an internal error: ${response.error.message}` : undefined
  } catch {
    return 'a body that is not JSON'
  }
}
