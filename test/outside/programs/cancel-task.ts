import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('pause 20000', { returnImmediately: true })
const canceled = await worker.task(`${task?.id}`).cancel()
console.log(canceled.status.state)
