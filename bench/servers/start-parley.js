import { agent, serve } from 'parley-a2a'

const [port, directory, console] = process.argv.slice(2)
const hello = agent({ name: 'Hello' }, async (turn) => {
  await turn.status('working')
  await turn.artifact('answer').close('Hello')
  await turn.status('completed')
})
await serve(hello, { port: Number(port), directory, ...(console === 'off' && { console: false }) })
