import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
async function count(text: string): Promise<number> {
  let events = 0
  for await (const event of worker.stream(text)) if (event.type === 'artifact') events++
  return events
}
console.log(await Promise.all([count('count 5'), count('count 10'), count('count 3')]))
