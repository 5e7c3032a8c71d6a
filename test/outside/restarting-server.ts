import { agent, serve } from 'parley-a2a'

/** A server that a program starts, kills and starts again, at the port of its first argument. */
const slow = agent({ name: 'Slow', recovery: 'retry' }, async (turn) => {
  await turn.status('working', 'Reading')
  await new Promise((resolve) => setTimeout(resolve, 500))
  return `Read: ${turn.text}`
})
const server = await serve(slow, { port: Number(process.argv[2]), turns: { leaseTtl: 1_000 } })
console.log(server.port)
