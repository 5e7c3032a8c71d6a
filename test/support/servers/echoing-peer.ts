import { startHttpServer } from './http-server.ts'

/** A peer whose errors repeat everything it received: header, query and cookie. */
export async function startEchoingPeer(): Promise<{ readonly url: string; readonly received: readonly string[] }> {
  const received: string[] = []
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
    const message = `harmless-canary: you sent ${JSON.stringify(request.headers)} and ${search}`
    received.push(message)
    send(200, { jsonrpc: '2.0', id, error: { code: -32602, message, data: [{ said: message }] } })
  })
  return { url, received }
}
