import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { onTestFinished } from 'vitest'

/** What a provider that speaks as OpenAI does to one request. */
export type Act = (response: ServerResponse) => void

interface Told {
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly tool_call_id?: string }[]
  readonly tools?: readonly object[]
  readonly stream?: boolean
}

/** Such a provider on loopback, through the real package that talks to it. The last act is repeated. */
export async function scriptedOpenAI(...acts: Act[]) {
  const asked: Told[] = []
  const server = createServer(async (request, response) => {
    const act = acts[Math.min(asked.length, acts.length - 1)]
    asked.push(await bodyOf(request))
    act?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const provider = createOpenAICompatible({ name: 'scripted', baseURL, apiKey: 'sk-very-secret', includeUsage: true })
  return { model: provider('a-model'), asked }
}

async function bodyOf(request: IncomingMessage): Promise<Told> {
  let text = ''
  for await (const chunk of request) text += chunk
  return JSON.parse(text)
}

export function chunk(delta: object, finish: string | null = null): object {
  return {
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'a-model',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
}

const usage = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } }

function write(response: ServerResponse, chunks: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const each of chunks) response.write(`data: ${JSON.stringify(each)}\n\n`)
}

/** A whole stream. */
export function streams(...chunks: object[]): Act {
  return (response) => {
    write(response, [...chunks, usage])
    response.end('data: [DONE]\n\n')
  }
}

/** A stream that begins so, and then this happens. */
export function begins(chunks: readonly object[], then: Act): Act {
  return (response) => {
    write(response, chunks)
    setTimeout(() => then(response), 20)
  }
}

export function refuses(status: number, message: string): Act {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message, type: 'error', code: null, param: null } }))
  }
}
