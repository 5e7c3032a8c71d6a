import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const controller = new AbortController()
setTimeout(() => controller.abort(), 30)
const outcome = await worker.send('fill 8000000', { signal: controller.signal }).catch((error) => error)
console.log(outcome.reason ?? outcome.type)
