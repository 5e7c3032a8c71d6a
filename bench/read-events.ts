const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

/** What the bench looks at in an event. */
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

/** Posts a body and gives the events of the stream that answers it, as they come. */
export async function* readEvents(port: number, body: string, signal?: AbortSignal): AsyncGenerator<WireEvent> {
  const init = { method: 'POST', headers, body, ...(signal && { signal }) }
  const response = await fetch(`http://127.0.0.1:${port}/`, init)
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of response.body ?? []) {
    rest += decoder.decode(bytes, { stream: true })
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const data = /^data: ?(.*)$/m.exec(rest.slice(0, end))?.[1]
      rest = rest.slice(end + 2)
      if (data) yield (JSON.parse(data) as { readonly result?: WireEvent }).result ?? {}
    }
  }
}

/** The texts of the chunks that an event tells. */
export function textsOf({ task, artifactUpdate }: WireEvent): readonly string[] {
  const artifacts = artifactUpdate ? [artifactUpdate.artifact] : (task?.artifacts ?? [])
  return artifacts.flatMap(({ parts }) => parts.map(({ text = '' }) => text))
}
