import { startHttpServer } from './http-server.ts'

/** A peer that repeats in its errors all that it was sent: header, query and cookie. */
export async function startEchoingPeer(): Promise<{ readonly url: string; readonly seen: readonly string[] }> {
  const seen: string[] = []
  const url: string = await startHttpServer(async (request, response) => {
    const { pathname, search } = new URL(request.url ?? '', 'http://localhost')
    const send = (status: number, body: unknown) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (pathname.startsWith('/.well-known/')) {
      const key = (location: string) => ({ apiKeySecurityScheme: { name: 'peer-key', location } })
      return send(200, {
        name: 'Echoing',
        description: 'Repeats everything',
        version: '1',
        supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
        capabilities: { streaming: true },
        defaultInputModes: ['text/plain'],
        defaultOutputModes: ['text/plain'],
        skills: [{ id: 'x', name: 'x', description: 'x', tags: ['x'] }],
        securitySchemes: { header: key('header'), query: key('query'), cookie: key('cookie') },
        securityRequirements: [{ schemes: { header: { list: [] }, query: { list: [] }, cookie: { list: [] } } }],
      })
    }
    const { id } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { id: unknown }
    const told = `harmless-canary: you sent ${JSON.stringify(request.headers)} and ${search}`
    seen.push(told)
    send(200, { jsonrpc: '2.0', id, error: { code: -32602, message: told, data: [{ said: told }] } })
  })
  return { url, seen }
}
