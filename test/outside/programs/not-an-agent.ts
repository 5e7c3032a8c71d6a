import { createServer } from 'node:http'
import { connect } from 'parley-a2a/client'

const server = createServer((_, response) => response.end('<h1>Hello</h1>')).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as { port: number }
const error = await connect(`http://127.0.0.1:${port}`).catch((error) => error)
console.log(error.reason)
server.close()
