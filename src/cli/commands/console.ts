import { packageVersion } from '../../core/base/package-version.ts'
import type { Client } from '../../entries/client.ts'
import { openAgent } from '../agent.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { usageError } from '../errors.ts'
import { callLogger, untilStopped } from '../serve/serving.ts'

export const consoleCommand: Command = {
  description:
    'Opens the console for agents of other servers: chat, tasks, cards and raw requests in a browser. The browser talks to this process only, which calls the agents with your credentials and listens on this machine only. The printed address has a token that is valid once.',
  positionals: [
    { name: 'agent', summary: 'The agents, as --agent-card.', optional: true, multiple: true, complete: 'agent' },
  ],
  options: {
    ...agentOptions,
    port: { type: 'text', value: 'n', summary: 'The port.', default: 'a free one' },
  },
  examples: [
    { line: 'parley console https://agent.example.com', summary: 'Try an agent in a browser' },
    { line: 'A2ACLI_BEARER=… parley console https://one.example.com https://two.example.com', summary: 'Two agents' },
  ],
  async run(context) {
    const { settings, output, positionals } = context
    const references = positionals.length > 0 ? positionals : [settings.text('agent-card') ?? '']
    if (references.includes('')) throw usageError('Name the agents: parley console https://agent.example.com')
    const agents = await Promise.all(references.map((reference) => connectTo(context, reference)))
    const [{ openConsoleRelay }, { listen }] = await Promise.all([
      import('../../serve/console-relay.ts'),
      import('../../core/node/listen.ts'),
    ])
    const relay = openConsoleRelay({ agents, version: packageVersion, logger: callLogger(output) })
    const server = await listen(relay.exchange, { port: settings.integer('port') ?? 0, host: '127.0.0.1' })
    const url = `${server.url}${relay.path}`
    try {
      if (output.mode === 'json') output.line({ url })
      else output.field('Console', url)
      await untilStopped(context)
    } finally {
      await server.close({ deadline: 0 })
    }
  },
}

async function connectTo(context: Context, reference: string) {
  const { settings } = context
  const text = (name: string) => (name === 'agent-card' ? reference : settings.text(name))
  const { client }: { client: Client } = await openAgent({ ...context, settings: { ...settings, text } })
  return { url: client.card.interfaces[0]?.url ?? reference, card: client.card, service: client.service }
}
