import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'
import { createOperatorClient } from 'parley-a2a/operator'

const server = await serve(agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`))
await (await connect(server.url)).send('hello')
const operator = createOperatorClient({ url: `${server.url}/console` })
console.log((await operator.tasks({})).tasks.length)
await server.close()
