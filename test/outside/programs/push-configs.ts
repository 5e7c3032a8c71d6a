import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('pause 3000', { returnImmediately: true })
const { push, cancel } = worker.task(`${task?.id}`)
const { id = '' } = await push.create({ url: 'http://127.0.0.1:4999/never' })
console.log((await push.get(id)).url)
for await (const config of push.list()) console.log(config.id === id)
await push.delete(id)
await cancel()
