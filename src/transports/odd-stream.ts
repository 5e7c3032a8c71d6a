import { JsonError } from '../http/json-text.ts'
import { A2AError } from '../protocol/errors.ts'

/** Looks into what is not said to be a stream. One never begins as JSON or a page does. */
export async function lookInto(body: ReadableStream<Uint8Array>) {
  const [copy, rest] = body.tee()
  const reader = copy.getReader()
  const { value } = await reader.read()
  reader.cancel().catch(() => {})
  return { body: rest, isStream: !/^\s*[{[<]/.test(new TextDecoder().decode(value?.subarray(0, 64))) }
}

/** Why an event cannot be read. */
export function brokenEvent(error: unknown, isCut: boolean, url: string): unknown {
  if (!(error instanceof JsonError)) return error
  if (isCut) {
    const problem = `The stream of ${url} broke off in the middle of an event.`
    return new A2AError('unavailable', problem, { cause: error, url, reason: 'connection-lost' })
  }
  const problem = `The stream of ${url} has an event that is no JSON: ${error.message}.`
  return new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'broken-event' })
}
