import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const controller = new AbortController()
for await (const event of worker.stream('count 50', { signal: controller.signal })) {
  console.log(event.type)
  controller.abort()
}
