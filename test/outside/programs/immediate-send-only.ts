import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('count 20', { returnImmediately: true })
console.log(task?.status.state)
