import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const error = await worker.send('pause 20000', { timeout: 200 }).catch((error) => error)
console.log(error.code)
