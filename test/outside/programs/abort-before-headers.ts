import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const error = await worker.send('think 20000', { signal: AbortSignal.timeout(200) }).catch((error) => error)
console.log(error.reason)
