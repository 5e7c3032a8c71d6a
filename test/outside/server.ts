import { agent, serve } from 'parley-a2a'

/** The agent that the programs call. Its text says what it does. */
const worker = agent({ name: 'Worker', description: 'Counts, waits and answers' }, async (turn) => {
  const [word = '', amount = '20'] = turn.text.split(' ')
  if (word !== 'count') return `You said: ${turn.text}`
  const numbers = turn.artifact('numbers.txt')
  for (let number = 1; number <= Number(amount); number++) {
    turn.signal.throwIfAborted()
    await numbers.write(`${number}\n`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return `Counted to ${amount}`
})

const server = await serve(worker, { port: 0 })
console.log(server.url)
