import { connect } from 'parley-a2a/client'
import { grpc } from 'parley-a2a/node'

const worker = await connect(`${process.env.AGENT_URL}`, { bindings: [grpc()] })
for await (const event of worker.stream('count 50')) {
  console.log(event.type)
  if (event.type === 'artifact') break
}
