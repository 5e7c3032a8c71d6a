import { defined } from '../../../../core/base/json.ts'
import type { OperatorClient } from '../../../../entries/operator.ts'
import type { Context } from '../../../command.ts'
import { usageError } from '../../../errors.ts'
import { timeText } from '../db.ts'
import { agentPositional, completeKey, cursorOption, operation, taskPositional, watching } from './operation.ts'

const webhookPositional = { name: 'webhook', summary: 'The id of the webhook.' }

export const operatorWebhooks = operation(
  {
    calls: ['webhooks'],
    description: 'Lists the webhooks of all tasks on a running server.',
    options: {
      agent: { type: 'text', value: 'id', summary: 'Only webhooks of this agent.', onlyFlag: true },
      'task-id': { type: 'text', value: 'id', summary: 'Only webhooks of this task.', onlyFlag: true },
      ...cursorOption,
    },
    examples: [{ line: 'parley operator webhooks', summary: 'Where events are sent' }],
  },
  (operator, { settings }) => {
    const [agent, taskId, cursor] = [settings.text('agent'), settings.text('task-id'), settings.text('cursor')]
    return operator.webhooks(defined({ agent, taskId, cursor }))
  },
  ({ webhooks, next }, { output }) => {
    for (const { agent, taskId, id, state, url, dead, problem } of webhooks) {
      output.field(
        'Webhook',
        `${agent} ${taskId} ${id} ${state} ${url}, ${dead} given up${problem ? `: ${problem}` : ''}`,
      )
    }
    output.field('Total', `${webhooks.length}`)
    if (next !== undefined) output.field('Next page', `--cursor ${next}`)
  },
)

export const operatorWebhook = operation(
  {
    calls: ['pauseWebhook', 'resumeWebhook', 'redeliver', 'deliveries', 'tasks'],
    description: 'Pauses, resumes or redelivers a webhook, or shows its deliveries.',
    positionals: [
      { name: 'action', summary: 'pause, resume, redeliver or deliveries.' },
      ...[agentPositional, taskPositional, webhookPositional],
    ],
    options: {
      number: { type: 'text', value: 'n', summary: 'Redeliver only the event with this number.', onlyFlag: true },
    },
    examples: [{ line: 'parley operator webhook redeliver echo 0199… hook', summary: 'Send failed deliveries again' }],
  },
  async (operator, { positionals, settings }) => {
    const [action, agent = '', taskId = '', id = ''] = positionals
    if (id === '') throw usageError('Name the action, the agent, the task and the webhook.')
    const webhook = { ...(await completeKey({ agent, taskId }, operator)), id }
    if (action === 'pause') return await operator.pauseWebhook(webhook)
    if (action === 'resume') return await operator.resumeWebhook(webhook)
    if (action === 'redeliver') return await operator.redeliver(webhook, settings.integer('number'))
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

export const operatorReceiver = watching(
  {
    calls: ['createReceiver', 'receivedDeliveries'],
    description:
      'Opens a webhook address on the server for an hour, and prints what arrives there until Ctrl-C. To receive on this machine instead, use parley listen.',
    positionals: [
      { name: 'receiver', summary: 'The id of an open receiver, to print its deliveries.', optional: true },
    ],
    examples: [
      { line: 'parley operator receiver', summary: 'Print a URL and a token to register, and wait' },
      { line: 'parley operator receiver 4TnY…', summary: 'Read an open receiver again' },
    ],
  },
  async (operator, context, signal) => {
    const [id] = context.positionals
    return operator.receivedDeliveries(id ?? (await openReceiver(operator, context)), signal)
  },
  ({ number, at, verdict, body }, { output }) => {
    output.field('Delivery', `${number}, ${timeText(at)}. ${verdict}`)
    output.write(`${body}\n`)
  },
)

/** The token is meant to be copied. For people it goes to stderr, because stdout has the deliveries. */
async function openReceiver(operator: Pick<OperatorClient, 'createReceiver'>, { output }: Context): Promise<string> {
  const { id, url, token, expires } = await operator.createReceiver()
  if (output.mode === 'json') {
    output.line({ receiver: { id, url, token, expires } })
    return id
  }
  output.note(`Receiver: ${id}, until ${timeText(expires)}`)
  output.note(`URL: ${url}`)
  output.note(`Token: ${token}`)
  return id
}
