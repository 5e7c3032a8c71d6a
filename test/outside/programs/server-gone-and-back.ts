import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const echo = agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`)
const first = await serve(echo)
const client = await connect(first.url, { retry: { tries: 1 } })
console.log((await client.send('hello')).text)
await first.close()
const error = await client.send('anyone there?').catch((error) => error)
console.log(error.reason)
const second = await serve(echo, { port: first.port })
console.log((await client.send('hello again')).text)
await second.close()
