import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
for await (const event of worker.stream('pause 1500')) console.log(event.type)
