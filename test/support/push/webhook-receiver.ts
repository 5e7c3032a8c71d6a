import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** One request that a receiver got. */
export interface ReceivedWebhook {
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  readonly generation: number
  readonly taskId: string
  readonly attempt: number
  /** When it came and when it was answered, in milliseconds since the test began. */
  readonly from: number
  to: number
}

export interface WebhookReceiver {
  readonly url: string
  readonly got: readonly ReceivedWebhook[]
}

/** Answers a request; without it, 204. */
export type WebhookResponder = (got: ReceivedWebhook, response: ServerResponse, request: IncomingMessage) => unknown

/** A receiver of webhooks on a port of this machine, gone after the test. */
export async function startWebhookReceiver(
  answer: WebhookResponder = (_, response) => response.writeHead(204).end(),
): Promise<WebhookReceiver> {
  const got: ReceivedWebhook[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const header = (name: string) => `${request.headers[name] ?? ''}`
    const one: ReceivedWebhook = {
      path: request.url ?? '',
      method: request.method ?? '',
      headers: Object.fromEntries(Object.keys(request.headers).map((name) => [name, header(name)])),
      body,
      generation: Number(header('x-a2a-generation')),
      taskId: header('x-a2a-task-id'),
      attempt: Number(header('x-a2a-attempt')),
      from: performance.now(),
      to: Number.POSITIVE_INFINITY,
    }
    got.push(one)
    response.on('close', () => {
      one.to = performance.now()
    })
    await answer(one, response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got }
}
