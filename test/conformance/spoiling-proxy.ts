import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { listenOnFreePort } from '../support/servers/http-server.ts'
import { type Fault, faultyFetch } from './faulty-agent.ts'

/** A real proxy before an agent that spoils one thing. Its card names the proxy. */
export async function startSpoilingProxy(origin: string, fault: Fault): Promise<string> {
  const forward = faultyFetch((request) => fetch(request), fault)
  const server = createServer(async (incoming, outgoing) => {
    try {
      const body = Buffer.concat(await Array.fromAsync(incoming)).toString()
      const { host: _, connection: __, 'content-length': ___, ...headers } = incoming.headers
      const response = await forward(`${origin}${incoming.url}`, {
        method: incoming.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(body !== '' && { body }),
      })
      const { 'content-encoding': ____, 'content-length': _____, ...kept } = Object.fromEntries(response.headers)
      outgoing.writeHead(response.status, kept)
      if (/event-stream/.test(kept['content-type'] ?? '') && response.body) {
        const stream = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
        stream.on('error', () => outgoing.destroy())
        outgoing.on('close', () => stream.destroy())
        stream.pipe(outgoing)
        return
      }
      outgoing.end((await response.text()).replaceAll(origin, url))
    } catch {
      outgoing.destroy()
    }
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${await listenOnFreePort(server)}`
  return url
}
