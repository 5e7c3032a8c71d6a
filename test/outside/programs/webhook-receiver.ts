import { createServer } from 'node:http'
import { connect } from 'parley-a2a/client'
import { toListener } from 'parley-a2a/node'
import { createReceiver } from 'parley-a2a/push'

const { promise: completed, resolve } = Promise.withResolvers<string>()
const server = createServer((request, response) => listener(request, response)).listen(0, '127.0.0.1')
await new Promise((listening) => server.once('listening', listening as () => void))
const { port } = server.address() as { port: number }
const receiver = createReceiver({
  url: `http://127.0.0.1:${port}/hooks`,
  secret: 'at least 32 bytes that only this program knows',
  onEvent({ event }) {
    if (event.type === 'status' && event.status.state === 'completed') resolve(event.status.state)
  },
})
const listener = toListener(receiver.exchange)

const worker = await connect(`${process.env.AGENT_URL}`)
await worker.send('count 3', { push: receiver, returnImmediately: true })
console.log(await completed)
receiver.close()
server.close(() => console.log('closed'))
// The delivery is answered when its event was taken; its connection would stay open for a while.
setTimeout(() => server.closeIdleConnections(), 200)
