import { setTimeout as delay } from 'node:timers/promises'
import { agent, createLogger, serve, skill } from 'parley-a2a'
import { z } from 'zod'

/** Milliseconds between two words of the report. */
const pace = Number(process.env.DEMO_PACE ?? 70)

const reportOn = (topic: string) => `# ${topic}

Parley stores every word of this report *before* you see it. If your connection breaks, the stream goes on after the last word.

- Reload the page while the report grows: nothing is lost, and nothing comes twice.
- Leave the question below open, restart the agent, and answer it then.
- Open the events of this task to see what was stored, and when.
`

const growth = skill({
  id: 'growth',
  name: 'Growth',
  description: 'Computes the growth between two figures, in percent.',
  tags: ['demo'],
  input: z.object({ before: z.number().positive(), after: z.number() }),
  output: z.object({ percent: z.number() }),
  run: ({ before, after }) => ({ percent: Math.round((after / before - 1) * 1000) / 10 }),
})

const reporter = agent(
  {
    name: 'Reporter',
    description: 'Writes a short report about anything, and asks whether to publish it.',
    skills: [{ id: 'report', name: 'Report', description: 'Writes a short report.', tags: ['demo'] }, growth],
    recovery: 'resume',
  },
  async (turn) => {
    await turn.step('write', async (output) => {
      await output.status('working', 'Writing the report')
      const report = output.artifact('report.md')
      for (const word of reportOn(turn.text).split(/(?<=\s)(?=\S)/)) {
        await report.write(word)
        await delay(pace, undefined, { signal: turn.signal })
      }
      await report.close()
    })
    const choice = await turn.ask('Publish the report?', { schema: z.enum(['publish', 'discard']) })
    return choice === 'publish' ? `The report about ${turn.text} is published.` : 'The report is discarded.'
  },
)

const port = Number(process.env.PORT ?? 4000)
const logger = createLogger({ level: 'warn' })
const server = await serve(reporter, { port, grpc: true, logger }).catch((error: Error) => {
  const { syscall } = (error.cause ?? {}) as NodeJS.ErrnoException
  console.error(syscall === 'listen' ? `${error.message}. For another port: PORT=4001 npm start` : error.message)
  process.exit(1)
})

const message = { messageId: 'hello-1', role: 'ROLE_USER', parts: [{ text: 'Hello Parley' }] }
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } })

console.log(`
  Console  ${server.consoleUrl}
           (this link logs in once; later, the key is in .parley/operator-key)
  Agent    ${server.url} (A2A 1.0, 0.3, 0.2 and 0.1, over JSON-RPC, REST and gRPC)
  Card     ${server.cardUrl}
  Tasks    .parley/reporter.db (they survive a restart)

Talk with the agent in the console, or here: npx parley chat ${server.url}
Or stream one answer: curl -sN ${server.url}/ -H 'content-type: application/json' -d '${body}'
Stop it with Ctrl-C.
`)
