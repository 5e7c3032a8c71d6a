import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('fill 100')
for (const { name, text } of await worker.task(`${task?.id}`).artifacts()) console.log(name, text.length)
