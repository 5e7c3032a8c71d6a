import { agent } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const writer = agent({ name: 'Writer' }, async (turn) => {
  await turn.artifact('text.md').close(`# ${turn.text}`)
  return 'Written.'
})
const planner = agent({ name: 'Planner' }, async (turn) => {
  const replies = await turn.callAll([
    [writer, turn.text],
    [writer, 'fog'],
  ])
  return `${replies.length} texts`
})
const client = await connect(planner)
console.log((await client.send('rain')).text)
for await (const event of client.stream('snow')) console.log(event.type)
