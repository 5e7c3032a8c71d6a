import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const lister = agent({ name: 'Lister' }, async function* () {
  yield 'one '
  yield 'two '
  yield 'three'
})
const server = await serve(lister)
for await (const event of (await connect(server.url)).stream('list')) console.log(event.type)
await server.close()
