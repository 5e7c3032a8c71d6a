import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('count 20', { returnImmediately: true })
const ended = await worker.task(`${task?.id}`).wait()
if (ended.task?.status.state !== 'completed') throw new Error(`the task is ${ended.task?.status.state}`)
console.log('completed')
