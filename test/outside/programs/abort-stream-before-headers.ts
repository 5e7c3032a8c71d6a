import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
let events = 0
for await (const event of worker.stream('think 20000', { signal: AbortSignal.abort() })) events += event ? 1 : 0
for await (const event of worker.stream('think 20000', { signal: AbortSignal.timeout(20) })) events += event ? 1 : 0
console.log(events)
