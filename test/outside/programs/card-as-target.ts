import { connect } from 'parley-a2a/client'
import { createGuardedFetch } from 'parley-a2a/node'

const first = await connect(`${process.env.AGENT_URL}`)
const second = await connect(first.card, { fetch: createGuardedFetch({ loopback: 'allow' }) })
console.log((await second.send('hello')).text)
