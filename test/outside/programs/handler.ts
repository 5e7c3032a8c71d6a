import { agent, createHandler } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const handler = createHandler(
  agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`),
  { auth: 'none' },
)
console.log((await (await connect(handler)).send('hello')).text)
await handler.drain(1_000)
