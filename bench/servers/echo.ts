import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { control } from './control.ts'

/** Echoes request bodies. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.once('end', () => {
    const body = Buffer.concat(chunks)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  })
})
server.listen(0, '127.0.0.1', () => control((server.address() as AddressInfo).port))
