import { createServer } from 'node:http'
import { agent, createHandler } from 'parley-a2a'
import { connect } from 'parley-a2a/client'
import { toListener } from 'parley-a2a/node'

const handler = createHandler(
  agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`),
  { auth: 'none' },
)
const server = createServer(toListener(handler.exchange)).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as { port: number }
console.log((await (await connect(`http://127.0.0.1:${port}`)).send('hello')).text)
await handler.drain(1_000)
server.close()
