import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ReceivedWebhook, WebhookReceiver } from '../conformance/session.ts'

/** Bytes of a delivery that are read. */
const maxBody = 2 ** 20

/** Receives webhooks of agents on this machine, for the conformance suite. */
export async function openWebhookReceiver(): Promise<WebhookReceiver & { close(): void }> {
  const received = new Map<string, ReceivedWebhook>()
  const waiting = new Map<string, () => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) if (body.length < maxBody) body += chunk
    response.writeHead(204).end()
    const path = request.url ?? ''
    // The suite reads the first delivery of each webhook.
    if (!received.has(path)) received.set(path, { headers: headersOf(request.headers), body })
    waiting.get(path)?.()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async receive(path, timeout) {
      const arrived = new Promise<void>((resolve) => waiting.set(path, resolve))
      if (!received.has(path)) await Promise.race([arrived, delay(timeout, undefined, { ref: false })])
      waiting.delete(path)
      return received.get(path)
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function headersOf(headers: NodeJS.Dict<string | string[]>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}`]))
}
