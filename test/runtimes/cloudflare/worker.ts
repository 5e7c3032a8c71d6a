import { apiKey } from 'parley-a2a/auth'
import { createWorker } from 'parley-a2a/cloudflare'
import { agent, reachAgents } from 'parley-a2a/server'

const delay = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Each text shows another behaviour; see `cloudflare.test.ts`. */
const worker = agent(
  { name: 'Worker', description: 'Shows what runs in a Worker', recovery: 'resume' },
  async (turn) => {
    const [word, address = ''] = turn.text.split(' ')
    switch (word) {
      case 'pauses': {
        const report = turn.artifact('report.txt')
        for (const word of ['one ', 'two ', 'three']) {
          await report.write(word)
          await delay(400)
        }
        return 'written'
      }
      case 'question':
        return `The answer was ${(await turn.ask('Which colour?')).text}`
      case 'endless':
        await turn.status('working', 'Counting')
        await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
        return 'never'
      case 'long':
        await turn.artifact('long.txt').write(`${'ä'.repeat(2_000_000)}end`)
        return 'written'
      case 'steps': {
        const id = await turn.step('number', () => crypto.randomUUID())
        await turn.status('working', id)
        await turn.step('pause', () => delay(6_000))
        return `Finished ${id}`
      }
      case 'call':
        return (await turn.call(address, 'hello')).text
      default:
        return `You said: ${turn.text}`
    }
  },
)

const { TaskObject, fetch: answer } = createWorker(worker, {
  auth: {
    schemes: {
      // The keys are key-of-ada and key-of-charles.
      key: apiKey({
        keys: [
          { id: 'ada', hash: '5532e44183f47ed1fc146851b96d585c24da5bd5fe31a885cebc357261ed8f7f' },
          { id: 'charles', hash: 'aa1d4522b5d0ce34bebaadc110686d8b43d28e52ba45564ca384ed6445dae66c' },
        ],
      }),
    },
    anonymous: true,
  },
  turns: { leaseTtl: 5_000 },
  calls: { reach: reachAgents() },
  push: {
    // The receiver of the test is on this machine, which a Worker elsewhere could not call.
    fetch: Object.assign((url: string, init: RequestInit) => fetch(url, init), { check: async () => {} }),
  },
})

export { TaskObject }
export default { fetch: answer }
