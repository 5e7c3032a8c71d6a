import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const reply = await worker.send('fill 4000000')
console.log(reply.artifacts[0]?.text.length)
let length = 0
for await (const event of worker.stream('fill 4000000')) {
  if (event.type === 'artifact') for (const part of event.artifact.parts) if ('text' in part) length += part.text.length
}
console.log(length)
