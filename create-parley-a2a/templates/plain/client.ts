import { connect } from 'parley-a2a/client'

const headers: Record<string, string> = process.env.API_KEY ? { 'x-api-key': process.env.API_KEY } : {}
const reporter = await connect(process.env.AGENT_URL || `http://localhost:${process.env.PORT || 4000}`, {
  authorize: async () => ({ headers }),
})
const conversation = reporter.conversation()
console.log((await conversation.send('Sales')).text)

// The answer to the question continues the same task.
for await (const event of conversation.stream('the first quarter')) {
  if (event.type === 'artifact')
    for (const part of event.artifact.parts) if ('text' in part) process.stdout.write(part.text)
  if (event.type === 'status') console.log(`[${event.status.state}]`)
}
