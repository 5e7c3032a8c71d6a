import { createWorker } from 'parley-a2a/cloudflare'
import { agent } from 'parley-a2a/server'

const echo = agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`)
const { TaskObject, fetch: answer } = createWorker(echo, { auth: 'none' })

export { TaskObject }
export default { fetch: answer }
