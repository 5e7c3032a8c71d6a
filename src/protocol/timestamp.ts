/** Times as A2A writes them. Many events are of one millisecond, and writing or reading a time costs as much as an event. */

let written = { milliseconds: 0, text: '' }
let read = { milliseconds: 0, text: '' }

/** Of now, or of the moment that a clock of another kind calls so. */
export function timestampNow(milliseconds: number = Date.now()): string {
  if (milliseconds !== written.milliseconds) written = { milliseconds, text: new Date(milliseconds).toISOString() }
  return written.text
}

/** Milliseconds since 1970. */
export function readTimestamp(text: string): number {
  if (text === written.text) return written.milliseconds
  if (text !== read.text) read = { milliseconds: Date.parse(text), text }
  return read.milliseconds
}
