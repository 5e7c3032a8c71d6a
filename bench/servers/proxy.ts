import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { control } from './control.ts'

/** A reverse proxy of bare node:http with kept connections, in front of the given port. */
const [port] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const server = createServer((incoming, outgoing) => {
  const { method, url: path, headers } = incoming
  const upstream = request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(outgoing)
  })
  upstream.on('error', () => outgoing.destroy())
  incoming.pipe(upstream)
})
server.listen(0, '127.0.0.1', () => control((server.address() as AddressInfo).port))
