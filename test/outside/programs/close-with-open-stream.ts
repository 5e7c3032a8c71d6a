import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const endless = agent({ name: 'Endless' }, async (turn) => {
  while (!turn.signal.aborted) {
    await turn.artifact('numbers').write('x')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
})
const server = await serve(endless, { drainDeadline: 3_000 })
for await (const event of (await connect(server.url)).stream('go')) {
  console.log(event.type)
  if (event.type === 'artifact') break
}
await server.close()
