import { fileURLToPath } from 'node:url'
import { createParser } from 'eventsource-parser'

export interface RawOutcome {
  readonly status: number
  readonly type: string | undefined
  readonly body: string
}

/** What must never be told: where the code lies, how it is called, and what it threw. */
const inside = [
  fileURLToPath(new URL('../..', import.meta.url)),
  /node_modules|node:internal|file:\/\//,
  /\n\s+at \S|\\n\s+at \S/,
  /\.[tj]s:\d+/,
  /\b(?:Type|Range|Syntax|Reference)Error\b/,
]

/** HTTP has no other number for codings and versions of it that nobody speaks here. */
const unspoken: ReadonlySet<number> = new Set([501, 505])

/** The fault of an answer, if it has one. Whatever was asked, an answer is JSON or events, and never an accident. */
export function faultOfResponse({ status, type, body }: RawOutcome): string | undefined {
  if (!(status >= 200 && status < 500) && !unspoken.has(status)) return `the status ${status}`
  for (const secret of inside) {
    if (typeof secret === 'string' ? body.includes(secret) : secret.test(body))
      return `words from the inside: ${secret}`
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
    const answer = JSON.parse(json)
    if (typeof answer !== 'object' || answer === null) return 'no object'
    // -32603 is our accident; only shutting down is told in the same number.
    return answer.error?.code === -32603 ? `an internal error: ${answer.error.message}` : undefined
  } catch {
    return 'something that is no JSON'
  }
}
