import { z } from 'zod'
import type { JsonObject } from '../../../../src/core/base/json.ts'
import { clientTools } from '../../../../src/core/protocol/extensions/client-tools.ts'
import { A2AError, agent, skill } from '../../../../src/entries/index.ts'

/** Number of canceled runs of `slow`. The skill `canceled` returns it. */
let canceled = 0

const none = z.object({})

/** An agent with a skill for every outcome of a task. */
export const testAgent = agent({
  name: 'Test agent',
  description: 'Does everything.',
  skills: [
    skill({
      id: 'forecast',
      name: 'Forecast',
      description: 'Tells the weather.',
      examples: ['Graz'],
      input: z.object({ city: z.string().min(2) }),
      output: z.object({ degrees: z.number() }),
      run: ({ city }) => ({ degrees: city.length }),
    }),
    skill({ id: 'echo', name: 'Echo', run: (text) => `You said ${text}` }),
    skill({ id: 'double', name: 'Double', input: z.number(), output: z.number(), run: (n) => n * 2 }),
    skill({
      id: 'order',
      name: 'Order',
      input: z.object({ item: z.string() }),
      output: z.object({ item: z.string(), colour: z.string() }),
      async run({ item }, turn) {
        await turn.status('working', 'Looking it up')
        const { text: colour } = await turn.ask(`Which colour for the ${item}?`)
        return { item, colour }
      },
    }),
    skill({
      id: 'slow',
      name: 'Slow',
      async run(_, turn) {
        await turn.status('working', 'Warming up')
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve, { once: true }))
        canceled++
        return 'discarded'
      },
    }),
    skill({ id: 'trace', name: 'Trace', run: (_, turn) => turn.trace?.traceparent ?? 'none' }),
    skill({ id: 'canceled', name: 'Canceled', run: () => `${canceled}` }),
    skill({
      id: 'files',
      name: 'Files',
      async run(_, turn) {
        const report = turn.artifact('report.md')
        await report.write('# Sales')
        await report.close('\nThey grew.')
        await turn.file({ name: 'a.png', mediaType: 'image/png', content: new Uint8Array([1]) })
        await turn.file({ name: 'b.wav', mediaType: 'audio/wav', content: new Uint8Array([2]) })
        await turn.file({ name: 'c d.bin', content: new Uint8Array([3]) })
        await turn.file({ name: 'e.pdf', mediaType: 'application/pdf', content: new URL('https://example.com/e.pdf') })
        await turn.data({ n: 1 })
        return 'All there'
      },
    }),
    skill({ id: 'fail', name: 'Fail', run: (_, turn) => turn.fail('Out of paper') }),
    skill({
      id: 'crash',
      name: 'Crash',
      run: () => {
        throw new Error('secret 123')
      },
    }),
    skill({
      id: 'sign-in',
      name: 'Sign in',
      run: (_, turn) => turn.status('auth-required', 'See https://example.com'),
    }),
    skill({
      id: 'big',
      name: 'Big',
      input: none,
      run: () => 'x'.repeat(200_000),
    }),
    skill({ id: 'refuse', name: 'Refuse', run: () => Promise.reject(new A2AError('forbidden', 'Not for you.')) }),
  ],
})

/** Asks with the client-tools extension. */
export const askingAgent = agent({ name: 'Asking' }, async function* (turn) {
  if (turn.task) return JSON.stringify(turn.message.parts)
  const fields = { size: { type: 'integer' }, gift: { type: 'boolean' } }
  const more: JsonObject =
    turn.text === 'secret' ? { sensitive: true } : { schema: { type: 'object', properties: fields } }
  const prompt = 'How large?'
  const metadata = { [clientTools]: { requestId: 'r-1', prompt, ...more } }
  const message = { messageId: crypto.randomUUID(), role: 'agent' as const, parts: [{ text: prompt }], metadata }
  const status = { state: 'input-required' as const, timestamp: new Date().toISOString(), message }
  yield { type: 'status' as const, status }
  return undefined
})
