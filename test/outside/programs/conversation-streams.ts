import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const talk = worker.conversation()
for await (const event of talk.stream('ask')) console.log(event.type)
for await (const event of talk.stream('blue')) console.log(event.type)
