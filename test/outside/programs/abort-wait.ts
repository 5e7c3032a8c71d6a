import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('pause 20000', { returnImmediately: true })
const handle = worker.task(`${task?.id}`)
const outcome = await handle.wait({ signal: AbortSignal.timeout(300) }).catch((error) => error)
console.log(outcome.reason ?? outcome.type)
await handle.cancel()
