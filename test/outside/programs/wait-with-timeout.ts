import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('count 10', { returnImmediately: true })
const ended = await worker.task(`${task?.id}`).wait({ timeout: 60_000 })
console.log(ended.text)
