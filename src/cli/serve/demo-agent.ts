import { agent } from '../../entries/server.node.ts'

/** What the demo agent does with each word. */
const abilities = {
  hello: 'answers with a message',
  count: 'counts in an artifact that grows',
  slow: 'counts, one number per second',
  ask: 'asks a question with choices',
  auth: 'asks for credentials',
  file: 'returns a file, data and text',
  fail: 'fails',
  reject: 'rejects the task',
  wait: 'works until it is canceled',
}

const colorNames = ['red', 'green', 'blue']

/** A Standard Schema without a library. Its JSON Schema becomes the menu of a chat. */
const colors = {
  '~standard': {
    version: 1 as const,
    vendor: 'parley',
    validate: (value: unknown) =>
      colorNames.includes(value as string)
        ? { value: value as string }
        : { issues: [{ message: `expected one of ${colorNames.join(', ')}` }] },
    jsonSchema: { input: () => ({ type: 'string', enum: colorNames }) },
  },
}

/** An agent that shows every behaviour that a client meets. */
export const demoAgent = agent(
  {
    name: 'Demo',
    description: `Shows what agents do. Send one of: ${Object.keys(abilities).join(', ')}. Other texts are repeated.`,
    version: '1.0.0',
    skills: Object.entries(abilities).map(([id, description]) => ({
      id,
      name: id,
      description: `The word "${id}" ${description}.`,
      tags: ['demo'],
      examples: [id],
    })),
  },
  async (turn) => {
    const [word = ''] = turn.text.trim().toLowerCase().split(/\s+/)
    switch (word) {
      case 'hello':
        return 'Hello! I am the demo agent. Send **help** to see what I can do.'
      case 'help':
        return Object.entries(abilities)
          .map(([name, text]) => `- \`${name}\` ${text}`)
          .join('\n')
      case 'count':
      case 'slow': {
        await turn.status('working', 'Counting')
        const numbers = turn.artifact('numbers')
        for (const number of ['one', 'two', 'three']) {
          if (word === 'slow') await pause(1_000, turn.signal)
          await numbers.write(`${number}\n`)
        }
        await numbers.close()
        await turn.status('completed', 'Counted to three')
        return
      }
      case 'ask': {
        const color = await turn.ask('Which colour do you like?', { schema: colors })
        await turn.status('completed', `You like ${color}.`)
        return
      }
      case 'auth':
        await turn.requireAuth({ scheme: 'calendar', description: 'Please send a token for your calendar.' })
        await turn.status('completed', 'Thank you: access is granted.')
        return
      case 'file':
        await turn.file({ name: 'greeting.txt', content: 'Hello from a file.\n', mediaType: 'text/plain' })
        await turn.data({ total: 3, items: ['one', 'two', 'three'] })
        await turn.status('completed', 'Here is a file, and some data.')
        return
      case 'fail':
        await turn.fail('This is a failure for demonstration.')
        return
      case 'reject':
        await turn.reject('This is a rejection for demonstration.')
        return
      case 'wait':
        await turn.status('working', 'Working until you cancel the task')
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
        return
      default:
        return `You said: ${turn.text}`
    }
  },
)

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { setTimeout: delay } = await import('node:timers/promises')
  await delay(milliseconds, undefined, { signal })
}
