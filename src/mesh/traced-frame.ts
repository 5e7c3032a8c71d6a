import { readTrace, type Trace, traceHeaders } from '../protocol/trace.ts'
import type { MeshCard } from './envelope.ts'

/**
 * Envelopes have no place for a trace. Over HTTP it is in headers; over a WebSocket lines before the envelope in its
 * frame take their place, for peers whose card says that they know it.
 */

/** What a card says under `metadata`. */
export const traceContext = 'trace_context'

export function knowsFrames(card: MeshCard | undefined): boolean {
  return card?.metadata?.[traceContext] === true
}

export function writeFrame(text: string, trace: Trace | undefined): string {
  const lines = Object.entries(traceHeaders(trace)).map(([name, value]) => `${name}: ${value}\n`)
  return lines.length === 0 ? text : `${lines.join('')}\n${text}`
}

/** Characters that the lines may have. */
const longest = 2_048

export function readFrame(frame: string): { readonly text: string; readonly trace?: Trace | undefined } {
  // An envelope begins with a brace.
  if (!frame.startsWith('traceparent: ')) return { text: frame }
  const end = frame.slice(0, longest).indexOf('\n\n')
  if (end < 0) return { text: frame }
  const lines = new Map(frame.slice(0, end).split('\n').map(pairIn))
  const trace = readTrace(lines.get('traceparent'), () => lines.get('tracestate'))
  return { text: frame.slice(end + 2), trace }
}

function pairIn(line: string): [string, string] {
  const at = line.indexOf(': ')
  return [line.slice(0, Math.max(at, 0)), line.slice(at + 2)]
}
