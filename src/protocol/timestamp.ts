/** Times as A2A writes them. Many events are of one millisecond, and writing or reading a time costs as much as an event. */

let written = { milliseconds: 0, text: '' }
let read = { milliseconds: 0, text: '' }

export function timestampNow(): string {
  const milliseconds = Date.now()
  if (milliseconds !== written.milliseconds) written = { milliseconds, text: new Date(milliseconds).toISOString() }
  return written.text
}

/** Milliseconds since 1970. */
export function readTimestamp(text: string): number {
  if (text === written.text) return written.milliseconds
  if (text !== read.text) read = { milliseconds: Date.parse(text), text }
  return read.milliseconds
}
