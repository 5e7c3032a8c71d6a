import { connect } from 'parley-a2a/client'

const error = await connect(`${process.env.AGENT_URL}`, { signal: AbortSignal.abort() }).catch((error) => error)
console.log(error.reason)
