import { agent, createMemoryLog, serve, skill } from 'parley-a2a'
import { apiKey, hashApiKey } from 'parley-a2a/auth'
import { z } from 'zod'

const add = skill({
  id: 'add',
  name: 'Add',
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
})

/** The agent that the programs call. Its text says what it does. */
const worker = agent(
  { name: 'Worker', description: 'Counts, waits and answers', skills: [add], inputModes: ['*/*'] },
  async (turn) => {
    const [word = '', amount = '20'] = turn.text.split(' ')
    switch (word) {
      case 'count': {
        const numbers = turn.artifact('numbers.txt')
        for (let number = 1; number <= Number(amount); number++) {
          turn.signal.throwIfAborted()
          await numbers.write(`${number}\n`)
          await pause(20)
        }
        return `Counted to ${amount}`
      }
      case 'pause':
        await turn.status('working', 'Waiting')
        await pause(Number(amount), turn.signal)
        return `Waited for ${amount} ms`
      case 'think':
        await pause(Number(amount), turn.signal)
        return `Thought for ${amount} ms`
      case 'fill':
        await turn.artifact('filled.txt').close('x'.repeat(Number(amount)))
        return `Wrote ${amount} characters`
      case 'ask': {
        const answer = await turn.ask('Which colour?')
        return `One in ${answer.text}`
      }
      case 'fail':
        throw new Error('This agent fails on demand')
      default:
        return `You said: ${turn.text}`
    }
  },
)

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const options = { port: 0, log: createMemoryLog(), grpc: true, push: {} } as const
const open = await serve(worker, options)

/** The same agent for callers with a key, who also get an extended card. */
const keys = [{ id: 'ada', hash: await hashApiKey(`${process.env.AGENT_KEY}`) }]
const secured = await serve(worker, {
  ...options,
  log: createMemoryLog(),
  auth: { schemes: { key: apiKey({ keys }) } },
  extendedCard: { description: 'Counts, waits and answers, for customers' },
})
console.log(JSON.stringify({ AGENT_URL: open.url, SECURED_URL: secured.url }))
