import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const error = await worker
  .task('no-such-task')
  .wait()
  .catch((error) => error)
console.log(error.code)
