import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const error = await worker.send('hello', { signal: AbortSignal.abort() }).catch((error) => error)
console.log(error.reason)
