import { connect } from 'parley-a2a/client'
import { grpc } from 'parley-a2a/node'

const worker = await connect(`${process.env.AGENT_URL}`, { bindings: [grpc()] })
const error = await worker.send('think 20000', { signal: AbortSignal.timeout(200) }).catch((error) => error)
console.log(error.reason)
const controller = new AbortController()
for await (const event of worker.stream('count 50', { signal: controller.signal })) {
  console.log(event.type)
  controller.abort()
}
