import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`, { dialects: ['v0.3'], bindings: ['HTTP+JSON'] })
console.log((await worker.send('hello')).text)
for await (const event of worker.stream('count 5')) console.log(event.type)
const { task } = await worker.send('count 5', { returnImmediately: true })
console.log((await worker.task(`${task?.id}`).wait()).text)
