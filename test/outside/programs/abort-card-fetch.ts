import { createServer } from 'node:http'
import { connect } from 'parley-a2a/client'

const server = createServer(() => {}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as { port: number }
const signal = AbortSignal.timeout(200)
const error = await connect(`http://127.0.0.1:${port}`, { signal }).catch((error) => error)
console.log(error.reason)
server.close()
server.closeAllConnections()
