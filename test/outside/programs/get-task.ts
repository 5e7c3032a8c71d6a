import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('pause 50')
const again = await worker.task(`${task?.id}`).get({ historyLength: 1 })
console.log(again.status.state)
