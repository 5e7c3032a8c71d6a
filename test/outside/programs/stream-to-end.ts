import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
for await (const event of worker.stream('count 5')) console.log(event.type)
