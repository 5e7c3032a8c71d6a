import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('fail')
console.log(task?.status.state)
