import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const controller = new AbortController()
for await (const event of worker.stream('count 3', { signal: controller.signal })) console.log(event.type)
controller.abort()
await worker.send('hello', { signal: AbortSignal.timeout(60_000) })
