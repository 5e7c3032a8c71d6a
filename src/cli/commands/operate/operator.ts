import type { Json } from '../../../base/json.ts'
import { createOperatorClient, type OperatorClient, OperatorError, type TaskRow } from '../../../entries/operator.ts'
import { createFetch } from '../../agent.ts'
import { agentOptions, type Command, type Context, type Option } from '../../command.ts'
import { CliError, usageError } from '../../errors.ts'
import { timeText } from './db.ts'

const { bearer, 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } = agentOptions

const serverOptions = {
  server: { type: 'text', value: 'url', summary: 'The server, or its console.', default: 'http://127.0.0.1:4000' },
  bearer: { ...bearer, summary: 'Bearer token of an operator. Prefer A2ACLI_BEARER.' } as Option,
  'api-key': { type: 'text', value: 'key', secret: true, summary: 'API key of an operator, sent as X-API-Key.' },
  ...({ 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } as Readonly<Record<string, Option>>),
} as const satisfies Readonly<Record<string, Option>>

const agentPositional = { name: 'agent', summary: 'The id of the agent, as the list shows it.' }
const taskPositional = { name: 'task', summary: 'The id of the task.' }
const webhookPositional = { name: 'webhook', summary: 'The id of the webhook.' }

/** How a command shows what the server answers, as text. */
type Show<T> = (answer: T, context: Context) => void

/** A command that calls one operation of the operator API. */
function operation<T>(
  about: Omit<Command, 'run'>,
  call: (operator: OperatorClient, context: Context) => Promise<T>,
  show: Show<T>,
): Command {
  return {
    ...about,
    options: { ...serverOptions, ...about.options },
    async run(context) {
      const answer = await call(openOperator(context), context).catch((error) => {
        throw explain(error, context)
      })
      if (context.output.mode === 'json') context.output.document(JSON.parse(JSON.stringify(answer)) as Json)
      else show(answer, context)
    },
  }
}

const filters = {
  agent: { type: 'text', value: 'id', summary: 'Only tasks of this agent.', onlyFlag: true },
  state: { type: 'text', value: 'state', summary: 'Only these states, separated by commas; stuck is one of them.' },
  principal: { type: 'text', value: 'id', summary: 'Only tasks of this caller.' },
  skill: { type: 'text', value: 'id', summary: 'Only tasks of this skill.' },
  'context-id': { type: 'text', value: 'id', summary: 'Only tasks of this context.', onlyFlag: true },
  search: { type: 'text', value: 'text', summary: 'A part of a task id, a context id or a caller.' },
  cursor: { type: 'text', value: 'cursor', summary: 'Continue after an earlier page.', onlyFlag: true },
  limit: { type: 'text', value: 'n', summary: 'How many tasks to list, up to 200.', default: '50' },
} as const satisfies Readonly<Record<string, Option>>

export const operatorTasks = operation(
  {
    description: 'Lists the tasks of all callers on a running server, with the newest change first.',
    options: filters,
    examples: [{ line: 'parley operator tasks --state failed,stuck', summary: 'What went wrong' }],
  },
  (operator, { settings }) => {
    const { limit, 'context-id': _, ...names } = filters
    const query = Object.fromEntries(Object.keys(names).map((name) => [name, settings.text(name)]))
    return operator.tasks({ ...query, contextId: settings.text('context-id'), limit: settings.integer('limit') })
  },
  ({ tasks, next, total }, { output }) => {
    for (const task of tasks) output.field('Task', rowText(task))
    output.field('Total', `${total}`)
    if (next !== undefined) output.field('Next page', `--cursor ${next}`)
  },
)

export const operatorTask = operation(
  {
    description: 'Shows one task of a running server: its state over time, its steps and what it waits for.',
    positionals: [agentPositional, taskPositional],
    examples: [{ line: 'parley operator task echo 0199… -o json', summary: 'Everything about a task' }],
  },
  (operator, context) => operator.task(taskKey(context)),
  ({ phases, steps, waiting, ...task }, { output }) => {
    output.field('Task', rowText(task))
    for (const { phase, at } of phases) output.field('State', `${phase} ${timeText(at)}`)
    for (const { step, attempt, failure } of steps) {
      output.field('Step', `${step}, attempt ${attempt}${failure ? `, failed: ${failure.message}` : ''}`)
    }
    if (waiting) output.field('Waits for', `${waiting.kind}: ${waiting.text}`)
  },
)

export const operatorEvents = operation(
  {
    description: 'Shows the events of a task with their times and sizes, oldest first.',
    positionals: [agentPositional, taskPositional],
    options: {
      after: { type: 'text', value: 'n', summary: 'Only events after this number.', onlyFlag: true },
      limit: { type: 'text', value: 'n', summary: 'How many events to show, up to 1,000.', default: '200' },
    },
    examples: [{ line: 'parley operator events echo 0199… --after 200', summary: 'The next events' }],
  },
  (operator, context) => {
    const { settings } = context
    return operator.events(taskKey(context), { after: settings.integer('after'), limit: settings.integer('limit') })
  },
  ({ events, generation }, { output }) => {
    for (const { generation: number, at, type, by, bytes } of events) {
      const time = at === undefined ? 'time unknown' : timeText(at)
      output.field('Event', `${number} ${type} by ${by}, ${bytes} bytes, ${time}`)
    }
    output.field('Last', `${generation}`)
  },
)

export const operatorCancel = operation(
  {
    description: 'Cancels tasks of any caller.',
    positionals: [agentPositional, { name: 'task', summary: 'The ids of the tasks.', multiple: true }],
    examples: [{ line: 'parley operator cancel echo 0199… 019a…', summary: 'Cancel two tasks' }],
  },
  (operator, context) => {
    const [agent = '', ...ids] = context.positionals
    if (ids.length === 0) throw usageError('Name the agent and the tasks to cancel.')
    return operator.cancelTasks({ tasks: ids.map((taskId) => ({ agent, taskId })) })
  },
  ({ results }, { output }) => {
    for (const { taskId, phase, error } of results) output.field('Task', `${taskId} ${phase ?? error}`)
    if (results.some(({ error }) => error !== undefined)) process.exitCode = 1
  },
)

export const operatorAnswer = operation(
  {
    description: 'Answers a question of a task in the place of its caller, or decides about an approval.',
    positionals: [agentPositional, taskPositional],
    options: {
      text: { type: 'text', value: 'text', summary: 'The answer in words.', onlyFlag: true },
      value: {
        type: 'text',
        value: 'json',
        summary: 'The answer as JSON, for a question with a schema.',
        onlyFlag: true,
      },
      approve: { type: 'flag', summary: 'Approve what the task asks for.', onlyFlag: true },
      decline: { type: 'flag', summary: 'Decline it.', onlyFlag: true },
      comment: { type: 'text', value: 'text', summary: 'A comment beside the answer.', onlyFlag: true },
    },
    examples: [{ line: 'parley operator answer shop 0199… --approve --comment "Within budget"', summary: 'Approve' }],
  },
  async (operator, context) => {
    const { settings } = context
    const task = taskKey(context)
    const { waiting } = await operator.task(task)
    const [text, value, comment] = [settings.text('text'), settings.text('value'), settings.text('comment')]
    const decision = settings.flag('approve') ? 'approve' : settings.flag('decline') ? 'decline' : undefined
    if (text === undefined && value === undefined && decision === undefined) {
      throw usageError('Give an answer: --text, --value, --approve or --decline.')
    }
    return await operator.answer(task, {
      ...(waiting?.requestId !== undefined && { requestId: waiting.requestId }),
      ...(text !== undefined && { parts: [{ text }] }),
      ...(value !== undefined && { value: parseValue(value) }),
      ...(decision && { decision }),
      ...(comment !== undefined && { comment }),
    })
  },
  (task, { output }) => output.field('Task', rowText(task)),
)

export const operatorInbox = operation(
  {
    description: 'Lists everything that waits for a person, across the agents of a server.',
    examples: [{ line: 'parley operator inbox', summary: 'What waits' }],
  },
  (operator) => operator.inbox(),
  ({ items }, { output }) => {
    for (const { agent, taskId, waiting } of items) {
      const deadline = waiting.deadline === undefined ? '' : ` until ${timeText(waiting.deadline)}`
      output.field(waiting.kind, `${agent} ${taskId}${deadline}: ${waiting.text}`)
    }
    output.field('Total', `${items.length}`)
  },
)

export const operatorOverview = operation(
  {
    description: 'Shows how many tasks a server has in each state, and what happened in the last hour or day.',
    options: {
      window: {
        type: 'text',
        value: 'window',
        summary: 'The time to look at.',
        choices: ['hour', 'day'],
        default: 'hour',
      },
    },
    examples: [{ line: 'parley operator overview --window day -o json', summary: 'The last day, for a program' }],
  },
  (operator, { settings }) => operator.overview(settings.text('window') === 'day' ? 'day' : 'hour'),
  ({ total, window }, { output }) => {
    for (const [state, count] of Object.entries(total.tasks)) output.field(state, `${count}`)
    const sum = (name: 'started' | 'completed' | 'failed') => total.points.reduce((all, point) => all + point[name], 0)
    output.field(`Last ${window}`, `${sum('started')} started, ${sum('completed')} completed, ${sum('failed')} failed`)
    output.field('Now', `${total.now.runs} running, ${total.now.queued} queued, ${total.stuck} stuck`)
  },
)

export const operatorWebhooks = operation(
  {
    description: 'Lists the webhooks of all tasks on a running server.',
    examples: [{ line: 'parley operator webhooks', summary: 'Where events are sent' }],
  },
  (operator) => operator.webhooks(),
  ({ webhooks }, { output }) => {
    for (const { agent, taskId, id, state, url, dead, problem } of webhooks) {
      output.field(
        'Webhook',
        `${agent} ${taskId} ${id} ${state} ${url}, ${dead} given up${problem ? `: ${problem}` : ''}`,
      )
    }
    output.field('Total', `${webhooks.length}`)
  },
)

export const operatorWebhook = operation(
  {
    description: 'Pauses, resumes or redelivers a webhook, or shows its deliveries.',
    positionals: [
      { name: 'action', summary: 'pause, resume, redeliver or deliveries.' },
      ...[agentPositional, taskPositional, webhookPositional],
    ],
    examples: [{ line: 'parley operator webhook redeliver echo 0199… hook', summary: 'Send failed deliveries again' }],
  },
  async (operator, { positionals }) => {
    const [action, agent = '', taskId = '', id = ''] = positionals
    if (id === '') throw usageError('Name the action, the agent, the task and the webhook.')
    const webhook = { agent, taskId, id }
    if (action === 'pause') return await operator.pauseWebhook(webhook)
    if (action === 'resume') return await operator.resumeWebhook(webhook)
    if (action === 'redeliver') return await operator.redeliver(webhook)
    if (action === 'deliveries') return await operator.deliveries(webhook)
    throw usageError(`Expected pause, resume, redeliver or deliveries, got "${action}".`)
  },
  (answer, { output }) => {
    if ('webhook' in answer) {
      output.field('Webhook', `${answer.webhook.id} ${answer.webhook.state}`)
      if (answer.redelivered !== undefined) output.field('Redelivered', `${answer.redelivered}`)
    } else {
      for (const { generation, outcome, attempts, status, problem } of answer.deliveries) {
        output.field(
          'Delivery',
          [generation, outcome, `${attempts} attempts`, status, problem].filter(Boolean).join(' '),
        )
      }
    }
  },
)

function openOperator(context: Context): OperatorClient {
  const { settings } = context
  const url = serverOf(context)
  const [token, apiKey] = [settings.text('bearer'), settings.text('api-key')]
  return createOperatorClient({
    url,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    },
    fetch: createFetch(context, { type: 'url', url }),
  })
}

/** The address of the console: users may leave out its path. */
function serverOf({ settings }: Context): string {
  const text = settings.text('server') ?? serverOptions.server.default
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw usageError(`--server: expected a URL, got "${text}".`)
  const bare = text.replace(/\/+$/, '')
  return bare.endsWith('/console') ? bare : `${bare}/console`
}

function explain(error: unknown, context: Context): unknown {
  context.signal.throwIfAborted()
  if (error instanceof CliError) return error
  if (!(error instanceof OperatorError)) {
    return new CliError('A2ACLI_ERR_UNREACHABLE', `The server ${serverOf(context)} cannot be reached.`, {
      cause: error,
      hint: 'Check --server.',
    })
  }
  const isRefused = error.status === 401 || error.status === 403
  const hint = isRefused ? 'Send the credentials of an operator: --bearer or --api-key.' : undefined
  return new CliError(isRefused ? 'A2ACLI_ERR_AUTH_FAILED' : 'A2ACLI_ERR_INTERNAL', error.message, {
    cause: error,
    ...(hint !== undefined && { hint }),
  })
}

function taskKey({ positionals }: Context) {
  const [agent, taskId] = positionals
  if (agent === undefined || taskId === undefined) throw usageError('Name the agent and the task.')
  return { agent, taskId }
}

function parseValue(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw usageError('--value: expected JSON, such as "blue" in quotes, 3 or {"a":1}.')
  }
}

function rowText({ agent, taskId, phase, principal, changed, events, summary }: TaskRow): string {
  const about = summary === undefined ? '' : `: ${summary}`
  return `${agent} ${taskId} ${phase} of ${principal.id}, ${events} events, ${timeText(changed)}${about}`
}
