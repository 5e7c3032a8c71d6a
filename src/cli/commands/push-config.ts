import { defined } from '../../core/base/json.ts'
import { encodeResult } from '../../core/dialects/v1.0/encode.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { PushConfig } from '../../entries/client.ts'
import { type AgentConnection, openAgent } from '../agent.ts'
import { agentOptions, type Command, type Context, type Positional } from '../command.ts'
import { usageError } from '../errors.ts'
import { resolveTaskId } from '../task-ids.ts'

const taskPositional: Positional = { name: 'task-id', summary: 'The id of the task.', complete: 'task' }
const idPositional: Positional = { name: 'config-id', summary: 'The id of the push notification config.' }

export const pushConfigCreate: Command = {
  description: 'Registers a webhook that gets the events of a task. parley listen receives them on this machine.',
  positionals: [taskPositional, { name: 'url', summary: 'The URL of the webhook.' }],
  options: {
    ...agentOptions,
    id: {
      type: 'text',
      value: 'id',
      summary: 'The id of the config. The agent chooses one without it.',
      onlyFlag: true,
    },
    token: { type: 'text', value: 'token', secret: true, summary: 'The token that the agent sends along.' },
    'auth-scheme': {
      type: 'text',
      value: 'name',
      summary: 'How the agent authenticates, such as Bearer.',
      onlyFlag: true,
    },
    'auth-credentials': { type: 'text', value: 'secret', secret: true, summary: 'The credentials for it.' },
  },
  examples: [
    {
      line: 'parley task push-config create 7f1c https://me.example.com/hook -a localhost:4000',
      summary: 'Register a webhook',
    },
  ],
  async run(context) {
    const { positionals, settings } = context
    const [taskId = '', url = ''] = positionals
    if (!URL.canParse(url)) throw usageError(`"${url}" is not a URL.`)
    const [id, token, scheme, credentials] = ['id', 'token', 'auth-scheme', 'auth-credentials'].map((name) =>
      settings.text(name),
    )
    const agent = await openPushAgent(context)
    const { client, call } = agent
    const config = await client.task(await resolveTaskId(taskId, agent)).push.create(
      defined({
        url,
        id,
        token,
        authentication: scheme === undefined ? undefined : defined({ scheme, credentials }),
      }),
      call,
    )
    print([config], context)
  },
}

export const pushConfigGet: Command = {
  positionals: [taskPositional, idPositional],
  options: agentOptions,
  examples: [{ line: 'parley task push-config get 7f1c c-1 -a localhost:4000', summary: 'Show a webhook' }],
  async run(context) {
    const [taskId = '', id = ''] = context.positionals
    const agent = await openPushAgent(context)
    const { client, call } = agent
    print([await client.task(await resolveTaskId(taskId, agent)).push.get(id, call)], context)
  },
}

export const pushConfigList: Command = {
  positionals: [taskPositional],
  options: agentOptions,
  examples: [{ line: 'parley task push-config list 7f1c -a localhost:4000', summary: 'Show the webhooks of a task' }],
  async run(context) {
    const [taskId = ''] = context.positionals
    const agent = await openPushAgent(context)
    const { client, call } = agent
    const configs = await Array.fromAsync(client.task(await resolveTaskId(taskId, agent)).push.list(call))
    if (context.output.mode === 'json') {
      context.output.document(encodeResult.listPushConfigs({ configs: configs.map(withoutSecrets), nextPageToken: '' }))
      return
    }
    print(configs, context)
    if (configs.length === 0) context.output.note('The task has no webhooks.')
  },
}

export const pushConfigDelete: Command = {
  positionals: [taskPositional, idPositional],
  options: agentOptions,
  examples: [{ line: 'parley task push-config delete 7f1c c-1 -a localhost:4000', summary: 'Remove a webhook' }],
  async run(context) {
    const [taskId = '', id = ''] = context.positionals
    const agent = await openPushAgent(context)
    const { client, call } = agent
    await client.task(await resolveTaskId(taskId, agent)).push.delete(id, call)
    if (context.output.mode === 'json') context.output.document({})
    else context.output.field('Deleted', id)
  },
}

/** The card must declare the capability before it is used. */
async function openPushAgent(context: Context): Promise<AgentConnection> {
  const agent = await openAgent(context)
  const { name, capabilities } = agent.client.card
  if (capabilities.pushNotifications === true) return agent
  const problem = `${name} does not offer push notifications: its card does not declare them.`
  throw new A2AError('push-not-supported', problem, { hint: 'Poll the task instead: parley task get --wait.' })
}

function print(configs: readonly PushConfig[], { output }: Context): void {
  for (const config of configs.map(withoutSecrets)) {
    if (output.mode === 'json') {
      output.document(encodeResult.getPushConfig(config))
      continue
    }
    output.field('Config', config.id ?? '(no id)')
    if (config.taskId) output.field('Task', config.taskId)
    output.field('URL', config.url)
    if (config.token) output.field('Token', config.token)
    if (config.authentication) output.field('Authentication', config.authentication.scheme)
    output.print('')
  }
}

/** Agents return the config as it was registered, credentials included. */
function withoutSecrets(config: PushConfig): PushConfig {
  const { token, authentication } = config
  return {
    ...config,
    ...defined({
      token: token ? '[redacted]' : undefined,
      authentication: authentication && {
        ...authentication,
        ...defined({ credentials: authentication.credentials ? '[redacted]' : undefined }),
      },
    }),
  }
}
