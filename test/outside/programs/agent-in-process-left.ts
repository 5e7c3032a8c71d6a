import { agent } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const endless = agent({ name: 'Endless' }, async (turn) => {
  const numbers = turn.artifact('numbers')
  for (let number = 0; number < 20 && !turn.signal.aborted; number++) {
    await numbers.write(`${number} `)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
})
const client = await connect(endless)
for await (const event of client.stream('go')) {
  console.log(event.type)
  if (event.type === 'artifact') break
}
