import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const server = await serve(agent({ name: 'Echo' }, (turn) => turn.text))
const echo = await connect(server.url)
await server.close()
const start = Date.now()
const failed = await echo.send('hello').catch((error) => error)
console.log(failed.reason)
try {
  for await (const event of echo.stream('hello')) console.log(event.type)
} catch (error) {
  console.log((error as { reason?: string }).reason)
}
if (Date.now() - start > 4_000) throw new Error('it took too long to notice that nothing listens')
