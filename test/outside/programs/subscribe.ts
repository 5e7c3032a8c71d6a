import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('count 10', { returnImmediately: true })
for await (const event of worker.task(`${task?.id}`).subscribe()) console.log(event.type)
