import { createGuardedFetch } from 'parley-a2a/node'
import { createRegistry } from 'parley-a2a/registry'

const registry = createRegistry({ fetch: createGuardedFetch({ loopback: 'allow' }) })
await registry.add(`${process.env.AGENT_URL}`)
const found = await registry.find({ skill: 'add' }).first()
if (found?.kind !== 'a2a') throw new Error('there is no agent with that skill')
console.log((await found.client.send('hello')).text)
await registry.close()
