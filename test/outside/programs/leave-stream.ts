import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
for await (const event of worker.stream('count 50')) {
  if (event.type === 'artifact') break
}
const reply = await worker.send('still there?')
console.log(reply.text)
