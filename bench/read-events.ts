import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

/** The members of an event that the benchmarks read. */
export interface WireEvent {
  readonly task?: WireTask
  readonly artifactUpdate?: { readonly artifact: WireArtifact }
  readonly statusUpdate?: { readonly status: { readonly state: string } }
}

interface WireTask {
  readonly id: string
  readonly status: { readonly state: string }
  readonly artifacts?: readonly WireArtifact[]
}

interface WireArtifact {
  readonly parts: readonly { readonly text?: string }[]
}

interface ReadOptions {
  readonly signal?: AbortSignal
  /** Called when bytes arrive, before they are parsed. */
  readonly onBytes?: () => void
}

/** Sends a request and yields the events of its response as they arrive. */
export async function* readEvents(
  port: number,
  body: string,
  { signal, onBytes }: ReadOptions = {},
): AsyncGenerator<WireEvent> {
  const options = { host: '127.0.0.1', port, method: 'POST', headers, agent: false, ...(signal && { signal }) }
  const call = request(options)
  call.end(body)
  const [response]: IncomingMessage[] = await once(call, 'response')
  if (onBytes) response?.socket.prependListener('data', onBytes)
  let rest = ''
  for await (const text of response?.setEncoding('utf8') ?? []) {
    rest += text
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const data = /^data: ?(.*)$/m.exec(rest.slice(0, end))?.[1]
      rest = rest.slice(end + 2)
      if (data) yield (JSON.parse(data) as { readonly result?: WireEvent }).result ?? {}
    }
  }
}

/** The texts of the chunks in an event. */
export function textsOf({ task, artifactUpdate }: WireEvent): readonly string[] {
  const artifacts = artifactUpdate ? [artifactUpdate.artifact] : (task?.artifacts ?? [])
  return artifacts.flatMap(({ parts }) => parts.map(({ text = '' }) => text))
}
