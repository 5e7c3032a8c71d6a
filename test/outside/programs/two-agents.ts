import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const writer = await serve(agent({ name: 'Writer' }, (turn) => `A text about ${turn.text}`))
const planner = await serve(
  agent({ name: 'Planner' }, async (turn) => `Planned: ${(await turn.call(writer.url, turn.text)).text}`),
)
console.log((await (await connect(planner.url)).send('rain')).text)
await planner.close()
await writer.close()
