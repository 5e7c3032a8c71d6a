import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.SECURED_URL}`)
const error = await worker.send('hello').catch((error) => error)
console.log(error.code, error.reason)
