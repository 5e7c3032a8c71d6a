import { connect } from 'parley-a2a/client'

const error = await connect('localhost:9').catch((error) => error)
console.log(error.message)
console.log(error.hint)
