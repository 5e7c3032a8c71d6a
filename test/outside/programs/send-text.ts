import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
console.log((await worker.send('hello')).text)
