import { connect } from 'parley-a2a/client'
import { grpc } from 'parley-a2a/node'

const worker = await connect(`${process.env.AGENT_URL}`, { bindings: [grpc()] })
console.log((await worker.send('hello')).text)
for await (const event of worker.stream('count 5')) console.log(event.type)
const { task } = await worker.send('count 5', { returnImmediately: true })
console.log((await worker.task(`${task?.id}`).wait()).text)
