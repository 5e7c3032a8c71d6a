import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const server = await serve(agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`))
const echo = await connect(server.url)
console.log((await echo.send('hello')).text)
await server.close()
