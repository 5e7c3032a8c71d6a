import { connect } from 'parley-a2a/client'

const headers: Record<string, string> = process.env.CALLER_KEY ? { 'x-api-key': process.env.CALLER_KEY } : {}
const reporter = await connect(process.env.AGENT_URL || 'http://localhost:4000/reporter', {
  authorize: async () => ({ headers }),
})
for await (const event of reporter.stream('Sales')) {
  if (event.type === 'artifact')
    for (const part of event.artifact.parts) if ('text' in part) process.stdout.write(part.text)
  if (event.type === 'status') console.log(`[${event.status.state}]`)
}
console.log(reporter.explain().lines.at(-1))
