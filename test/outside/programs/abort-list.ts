import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
await worker.send('pause 10')
const error = await worker
  .listTasks({}, { signal: AbortSignal.abort() })
  .next()
  .catch((error) => error)
console.log(error.reason)
