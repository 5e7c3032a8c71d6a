import { createServer } from 'node:http'

const [port] = process.argv.slice(2)
createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"answer":"Hello"}')
  })
}).listen(Number(port), '127.0.0.1')
