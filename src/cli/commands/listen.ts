import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defined } from '../../core/base/json.ts'
import type { PushDelivery } from '../../entries/push.ts'
import { openAgent } from '../agent.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { usageError } from '../errors.ts'
import { eventJson } from '../render.ts'
import { untilStopped } from '../serve/serving.ts'
import { createEventPrinter } from '../stream.ts'
import { resolveTaskId } from '../task-ids.ts'

export const listen: Command = {
  description:
    'Receives push notifications: checks the token and the signature of every delivery, drops duplicates, restores the order, and prints the events. With --task-id, it registers itself for the task at the agent. Agents on other machines need --url, an https address that leads here.',
  options: {
    ...agentOptions,
    port: { type: 'text', value: 'n', summary: 'The port.', default: 'a free one' },
    host: { type: 'text', value: 'address', summary: 'The address to listen on.', default: '127.0.0.1' },
    url: { type: 'text', value: 'url', summary: 'The address at which agents reach this receiver.' },
    'task-id': { type: 'text', value: 'id', summary: 'Register for this task.', complete: 'task' },
    token: { type: 'text', value: 'token', secret: true, summary: 'Also accept this token (16 characters or more).' },
    signer: { type: 'text', value: 'url', multiple: true, summary: 'Accept only signatures of this agent.' },
    count: { type: 'text', value: 'n', summary: 'Stop after this many deliveries.', onlyFlag: true },
  },
  examples: [
    { line: 'parley listen', summary: 'Print a URL and a token to register, and wait' },
    { line: 'parley listen -a localhost:4000 --task-id 7f1c', summary: 'Register for a task and print its events' },
    {
      line: 'parley listen --port 8080 --url https://me.example.com/hook -o json',
      summary: 'Behind a proxy, as JSON lines',
    },
  ],
  async run(context) {
    const { settings, output } = context
    const [{ createReceiver }, { toListener }] = await Promise.all([
      import('../../entries/push.ts'),
      import('../../entries/node.ts'),
    ])
    const host = settings.text('host') ?? '127.0.0.1'
    const server = createServer().listen(settings.integer('port') ?? 0, host)
    await once(server, 'listening').catch((error) => {
      throw usageError(`The receiver cannot listen: ${error.message}`)
    })
    const { port } = server.address() as AddressInfo
    const url = settings.text('url') ?? `http://${host}:${port}/hook`
    const limit = settings.integer('count')
    const stopped = new AbortController()
    const printer = createEventPrinter(output)
    let deliveries = 0
    const token = settings.text('token')
    const signers = settings.list('signer').map((issuer) => ({ issuer }))
    const receiver = createOrExplain(() =>
      createReceiver({
        url,
        signers,
        ...defined({ tokens: token === undefined ? undefined : [token] }),
        onEvent(delivery) {
          print(delivery, printer, context)
          if (++deliveries === limit) stopped.abort()
        },
        onRefused: ({ reason, message }) => output.warn(`A delivery was refused (${reason}): ${message}`),
      }),
    )
    server.on('request', toListener(receiver.exchange))
    try {
      await register(context, receiver, url)
      await Promise.race([untilStopped(context), once(stopped.signal, 'abort')])
    } finally {
      receiver.close()
      server.closeAllConnections()
      server.close()
    }
  },
}

type Receiver = import('../../entries/push.ts').Receiver

/** Registers at the agent, or prints what the user needs for it. */
async function register(context: Context, receiver: Receiver, url: string): Promise<void> {
  const { settings, output } = context
  const taskId = settings.text('task-id')
  if (taskId === undefined) {
    const { token = '' } = await receiver.register()
    output.note(`Listening at ${url}`)
    // The token is meant to be copied.
    output.note(`Token: ${token}`)
    output.note('Register it: parley task push-config create <task-id> <url> --token <token> --agent-card <ref>')
    return
  }
  const agent = await openAgent(context)
  const { client, call } = agent
  const config = await client.task(await resolveTaskId(taskId, agent)).push.create(receiver, call)
  output.note(`Listening at ${url}`)
  output.note(`Registered for the task ${taskId}${config.id ? ` as ${config.id}` : ''}.`)
}

/** Options that are wrong together are the user's mistake. */
function createOrExplain<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    if (error instanceof TypeError) throw usageError(error.message.replace(/^createReceiver\(\): /, '--'))
    throw error
  }
}

function print({ event }: PushDelivery, printer: ReturnType<typeof createEventPrinter>, { output }: Context): void {
  if (output.mode === 'json') output.line(eventJson(event))
  else printer.print(event)
}
