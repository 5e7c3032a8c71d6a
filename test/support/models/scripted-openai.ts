import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { onTestFinished } from 'vitest'

/** How the provider handles one request. */
export type Respond = (response: ServerResponse) => void

interface ChatRequest {
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly tool_call_id?: string }[]
  readonly tools?: readonly object[]
  readonly stream?: boolean
}

/** An OpenAI-compatible provider on loopback, with the AI SDK's client for it. The last step is repeated. */
export async function scriptedOpenAI(...steps: Respond[]) {
  const requests: ChatRequest[] = []
  const server = createServer(async (request, response) => {
    const respond = steps[Math.min(requests.length, steps.length - 1)]
    requests.push(await readBody(request))
    respond?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const provider = createOpenAICompatible({ name: 'scripted', baseURL, apiKey: 'sk-very-secret', includeUsage: true })
  return { model: provider('a-model'), requests }
}

async function readBody(request: IncomingMessage): Promise<ChatRequest> {
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
  for (const data of chunks) response.write(`data: ${JSON.stringify(data)}\n\n`)
}

/** Sends a complete stream. */
export function sendStream(...chunks: object[]): Respond {
  return (response) => {
    write(response, [...chunks, usage])
    response.end('data: [DONE]\n\n')
  }
}

/** Sends the start of a stream, and continues with `then`. */
export function startStream(chunks: readonly object[], then: Respond): Respond {
  return (response) => {
    write(response, chunks)
    setTimeout(() => then(response), 20)
  }
}

export function sendError(status: number, message: string): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message, type: 'error', code: null, param: null } }))
  }
}
