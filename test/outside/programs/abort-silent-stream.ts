import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
for await (const event of worker.stream('pause 20000', { signal: AbortSignal.timeout(300) })) console.log(event.type)
