import { defined, isObject, type JsonObject } from '../../../../core/base/json.ts'
import { currentVersion, protocolVersions } from '../../../../core/dialects/versions.ts'
import type {
  ComposeRequest,
  WireBinding,
  WireExchange,
  WireExchangeRow,
  WireRequest,
} from '../../../../entries/operator.ts'
import type { Context, Option } from '../../../command.ts'
import { usageError } from '../../../errors.ts'
import { readStdin } from '../../../message-parts.ts'
import { timeText } from '../db.ts'
import { agentPositional, answer, command, operation, watch, watching } from './operation.ts'

export const operatorWireCompose = operation(
  {
    calls: ['composeWire'],
    description:
      'Prints the raw request that a client of a protocol version sends, as JSON: edit it, and send it by parley operator wire send.',
    positionals: [agentPositional, { name: 'operation', summary: 'The operation, such as sendMessage or getTask.' }],
    options: {
      'a2a-version': {
        type: 'text',
        value: 'x.y',
        choices: protocolVersions,
        default: currentVersion,
        summary: 'The protocol version.',
      },
      binding: {
        type: 'text',
        value: 'name',
        choices: ['JSONRPC', 'REST', 'GRPC'],
        default: 'JSONRPC',
        onlyFlag: true,
        summary: 'The transport.',
      },
      text: { type: 'text', value: 'text', summary: 'The text of the message.', onlyFlag: true },
      'task-id': { type: 'text', value: 'id', summary: 'The task of the request.', onlyFlag: true },
      webhook: { type: 'text', value: 'url', summary: 'The webhook of createPushConfig.', onlyFlag: true },
      'config-id': {
        type: 'text',
        value: 'id',
        summary: 'The webhook of getPushConfig and deletePushConfig.',
        onlyFlag: true,
      },
    },
    examples: [
      { line: 'parley operator wire compose echo sendMessage --a2a-version 0.3', summary: 'A message of 0.3' },
    ],
  },
  (operator, { positionals, settings }) => {
    const [agent, name] = positionals
    if (agent === undefined || name === undefined) throw usageError('Name the agent and the operation.')
    const [text, taskId] = [settings.text('text'), settings.text('task-id')]
    const [webhook, configId] = [settings.text('webhook'), settings.text('config-id')]
    return operator.composeWire(
      defined({
        agent,
        operation: name,
        binding: (settings.text('binding') ?? 'JSONRPC') as WireBinding,
        dialect: (settings.text('a2a-version') ?? currentVersion) as ComposeRequest['dialect'],
        text,
        taskId,
        webhook,
        configId,
      }),
    )
  },
  // What is sent has to be the same in both modes.
  (request, { output }) => output.document({ ...request }),
)

export const operatorWireSend = watching(
  {
    calls: ['sendWire'],
    description:
      'Sends a raw request to an agent of the server, and prints the answer as it arrives. Reads the request from stdin.',
    examples: [
      {
        line: 'parley operator wire compose echo sendMessage --text hi | parley operator wire send',
        summary: 'Send a message of 1.0',
      },
    ],
  },
  async (operator, _context, signal) => operator.sendWire(await readRequest(), signal),
  (frame, { output }) => {
    if (frame.type === 'chunk') return output.write(frame.text)
    if (frame.type === 'head') {
      output.field('Status', `${frame.status}`)
      for (const [name, value] of Object.entries(frame.headers)) output.field(name, `${value}`)
      return output.print('')
    }
    output.print('')
    if (frame.error === undefined) return
    output.field('Error', frame.error)
    process.exitCode = 1
  },
)

const logOptions = {
  agent: { type: 'text', value: 'id', summary: 'Only requests to this agent.', onlyFlag: true },
  search: { type: 'text', value: 'text', summary: 'Only requests and answers with this text.', onlyFlag: true },
} as const satisfies Readonly<Record<string, Option>>

export const operatorWireLog = command(
  {
    calls: ['wireLog', 'wireLogChanges', 'wireExchange', 'wireHar'],
    description:
      'Lists the last requests that the console of a server sent to its agents: those of the chat and of the wire page. With a number, it shows one of them as sent and received. Credentials are not kept.',
    positionals: [{ name: 'number', summary: 'The request to show.', optional: true }],
    options: {
      ...logOptions,
      follow: { type: 'flag', summary: 'Print requests as they change, until Ctrl-C.', onlyFlag: true },
      har: { type: 'flag', summary: 'Print an HTTP Archive, which browsers open.', onlyFlag: true },
    },
    examples: [
      { line: 'parley operator wire log --follow', summary: 'Watch the requests of the console' },
      { line: 'parley operator wire log --har > wire.har', summary: 'Export the requests' },
    ],
  },
  async (operator, context) => {
    const { settings, positionals, output } = context
    const query = defined({ agent: settings.text('agent'), search: settings.text('search') })
    const [number] = positionals
    if (number !== undefined) {
      if (!/^[1-9]\d{0,14}$/.test(number)) throw usageError(`Expected the number of a request, got "${number}".`)
      return await answer(operator.wireExchange(Number(number)), showExchange, context)
    }
    if (settings.flag('har')) return output.document(await operator.wireHar(query))
    if (settings.flag('follow')) {
      return await watch((signal) => operator.wireLogChanges(query, signal), showRow, context)
    }
    return await answer(
      operator.wireLog(query),
      ({ exchanges, dropped }) => {
        for (const row of exchanges.toReversed()) showRow(row, context)
        if (dropped > 0) output.note(`${dropped} older ones were dropped.`)
      },
      context,
    )
  },
)

function showRow(
  { id, agent, at, operation, method, status, duration, error, version }: WireExchangeRow,
  { output }: Context,
): void {
  const result = error ?? (status === undefined ? 'no answer yet' : `HTTP ${status}`)
  const took = duration === undefined ? '' : `, ${duration} ms`
  output.field(
    `${id}`,
    `${timeText(at)} ${agent} ${operation ?? method}${version ? ` (${version})` : ''}: ${result}${took}`,
  )
}

function showExchange(
  { method, url, request, answer: received, events, error }: WireExchange,
  { output }: Context,
): void {
  const lines = (headers: Readonly<Record<string, string>>, mark: string) =>
    Object.entries(headers).map(([name, value]) => `${mark} ${name}: ${value}`)
  output.print([`> ${method} ${url}`, ...lines(request.headers, '>'), request.body, ''].join('\n'))
  if (received) output.print([`< HTTP ${received.status}`, ...lines(received.headers, '<'), received.body].join('\n'))
  for (const event of events) output.print(`+${event.at} ms\n${event.text}`)
  if (error !== undefined) output.field('Error', error)
}

async function readRequest(): Promise<WireRequest> {
  const text = await readStdin()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Reported below.
  }
  if (isRequest(value)) return value as unknown as WireRequest
  throw usageError(
    'stdin: expected a request as JSON, with agent, binding, method, url, headers and body.',
    'parley operator wire compose prints one.',
  )
}

/** The server checks the values. */
function isRequest(value: unknown): value is JsonObject {
  return isObject(value) && ['agent', 'binding', 'method', 'url', 'headers', 'body'].every((name) => name in value)
}
