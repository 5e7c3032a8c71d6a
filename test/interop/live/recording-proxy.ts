import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import {
  type Exchange,
  eventsIn,
  maxBody,
  maxExchanges,
  parseBody,
  recordedHeaders,
  recordedOrigin,
} from './recording.ts'

export interface RecordingProxy {
  readonly url: string
  readonly exchanges: readonly Exchange[]
  /** Names the check that the next exchanges belong to. */
  startCheck(name: string): void
  close(): Promise<void>
}

/** Forwards HTTP to an agent and records it. Cards name the proxy instead of the agent. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { origin } = new URL(target)
  const exchanges: Exchange[] = []
  let check: string | undefined
  let self = ''

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedIn = check
    const body = await readText(request)
    const { method = 'GET', url: path = '/' } = request
    const headers = recordedPart(request.headers)
    const abort = new AbortController()
    response.on('close', () => abort.abort())
    const upstream = await fetch(`${origin}${path}`, {
      method,
      headers,
      ...(body !== '' && { body }),
      signal: abort.signal,
    })
    const type = upstream.headers.get('content-type') ?? ''
    const server = upstream.headers.get('server')
    const facts = { status: upstream.status, type, ...(server !== null && { server }) }
    response.writeHead(upstream.status, { 'content-type': type, ...(server !== null && { server }) })
    let answer = ''
    try {
      const decoder = new TextDecoder()
      for await (const chunk of upstream.body ?? []) {
        const part = decoder.decode(chunk, { stream: true })
        answer += part
        response.write(part.replaceAll(origin, self))
      }
      response.end()
    } finally {
      record({ method, path, headers, body }, { ...facts, answer }, startedIn)
    }
  }

  function record(
    { body, ...request }: Omit<Exchange['request'], 'body'> & { readonly body: string },
    { answer, ...response }: Pick<Exchange['response'], 'status' | 'type' | 'server'> & { readonly answer: string },
    startedIn: string | undefined,
  ): void {
    if (exchanges.length >= maxExchanges || body.length > maxBody || answer.length > maxBody) return
    const neutral = (text: string) => text.replaceAll(self, recordedOrigin).replaceAll(origin, recordedOrigin)
    const isStream = response.type.startsWith('text/event-stream')
    const content = isStream ? { events: eventsIn(neutral(answer)) } : { body: parseBody(neutral(answer)) }
    exchanges.push({
      ...(startedIn !== undefined && { check: startedIn }),
      request: { ...request, ...(body !== '' && { body: parseBody(neutral(body)) }) },
      response: { ...response, ...content },
    })
  }

  const server = createServer((request, response) => {
    forward(request, response).catch((error: unknown) => {
      // An answer that the agent has cut is cut as well.
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end(String(error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  self = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: self,
    exchanges,
    startCheck(name) {
      check = name
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function recordedPart(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    recordedHeaders.flatMap((name) => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}
