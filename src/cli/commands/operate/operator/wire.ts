import { defined, isObject, type JsonObject } from '../../../../core/base/json.ts'
import { currentVersion, protocolVersions } from '../../../../core/dialects/versions.ts'
import type { ComposeRequest, WireBinding, WireRequest } from '../../../../entries/operator.ts'
import { usageError } from '../../../errors.ts'
import { readStdin } from '../../../message-parts.ts'
import { agentPositional, operation, watching } from './operation.ts'

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
    },
    examples: [
      { line: 'parley operator wire compose echo sendMessage --a2a-version 0.3', summary: 'A message of 0.3' },
    ],
  },
  (operator, { positionals, settings }) => {
    const [agent, name] = positionals
    if (agent === undefined || name === undefined) throw usageError('Name the agent and the operation.')
    const [text, taskId] = [settings.text('text'), settings.text('task-id')]
    return operator.composeWire(
      defined({
        agent,
        operation: name,
        binding: (settings.text('binding') ?? 'JSONRPC') as WireBinding,
        dialect: (settings.text('a2a-version') ?? currentVersion) as ComposeRequest['dialect'],
        text,
        taskId,
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
