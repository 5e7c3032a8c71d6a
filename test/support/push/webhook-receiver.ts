import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** One request at the receiver. */
export interface ReceivedWebhook {
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  readonly generation: number
  readonly taskId: string
  readonly attempt: number
  /** When it arrived and when it was answered, as `performance.now()`. */
  readonly from: number
  to: number
}

export interface WebhookReceiver {
  readonly url: string
  readonly requests: readonly ReceivedWebhook[]
}

/** Answers a request. */
export type WebhookResponder = (
  requests: ReceivedWebhook,
  response: ServerResponse,
  request: IncomingMessage,
) => unknown

/** Starts a webhook receiver on loopback. Answers 204 unless `answer` does otherwise. Closed after the test. */
export async function startWebhookReceiver(
  answer: WebhookResponder = (_, response) => response.writeHead(204).end(),
): Promise<WebhookReceiver> {
  const requests: ReceivedWebhook[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const header = (name: string) => `${request.headers[name] ?? ''}`
    const webhook: ReceivedWebhook = {
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
    requests.push(webhook)
    response.on('close', () => {
      webhook.to = performance.now()
    })
    await answer(webhook, response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, requests }
}
