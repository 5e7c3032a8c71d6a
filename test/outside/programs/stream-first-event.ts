import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const stream = worker.stream('count 30')
const first = await stream.next()
await stream.return(undefined)
console.log(first.value?.type)
