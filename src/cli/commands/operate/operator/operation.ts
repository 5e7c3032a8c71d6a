import { defined, type Json } from '../../../../core/base/json.ts'
import {
  createOperatorClient,
  type OperatorClient,
  OperatorError,
  type TaskRow,
} from '../../../../entries/operator.node.ts'
import { createFetch } from '../../../agent.ts'
import { agentOptions, type Command, type Context, type Option } from '../../../command.ts'
import { CliError, usageError } from '../../../errors.ts'
import { isComplete, matchTaskId } from '../../../task-ids.ts'
import { timeText } from '../db.ts'

const { bearer, 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } = agentOptions

const serverOptions = {
  server: { type: 'text', value: 'url', summary: 'The server, or its console.', default: 'http://127.0.0.1:4000' },
  bearer: { ...bearer, summary: 'Bearer token of an operator. Prefer A2ACLI_BEARER.' } as Option,
  'api-key': { type: 'text', value: 'key', secret: true, summary: 'API key of an operator, sent as X-API-Key.' },
  'key-file': {
    type: 'text',
    value: 'file',
    summary: 'The key of a server on this machine.',
    default: '.parley/operator-key',
    complete: 'file',
  },
  ...({ 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } as Readonly<Record<string, Option>>),
} as const satisfies Readonly<Record<string, Option>>

export const agentPositional = { name: 'agent', summary: 'The id of the agent, as parley operator agents shows it.' }
export const taskPositional = { name: 'task', summary: 'The id of the task.' }

export const cursorOption = {
  cursor: { type: 'text', value: 'cursor', summary: 'Continue after an earlier page.', onlyFlag: true },
} as const satisfies Readonly<Record<string, Option>>

type OperationName = keyof OperatorClient

/** A command, with the operations of the operator API that it calls. */
export interface OperatorCommand<N extends OperationName = OperationName> extends Command {
  readonly calls: readonly N[]
}

/** The operations that a command declares, and no others. */
type Operations<N extends OperationName> = Pick<OperatorClient, N>

type About<N extends OperationName> = Omit<OperatorCommand<N>, 'run'>

/** A command that requests one answer. `show` prints it as text. */
export function operation<const N extends OperationName, T>(
  about: About<N>,
  call: (operator: Operations<N>, context: Context) => Promise<T>,
  show: (answer: T, context: Context) => void,
): OperatorCommand<N> {
  return command(about, (operator, context) => answer(call(operator, context), show, context))
}

/** A command that prints events as they arrive: as text by `show`, or as lines of JSON. It ends with the stream or by Ctrl-C. */
export function watching<const N extends OperationName, T>(
  about: About<N>,
  open: (operator: Operations<N>, context: Context, signal: AbortSignal) => Items<T> | Promise<Items<T>>,
  show: (event: T, context: Context) => void,
): OperatorCommand<N> {
  return command(about, (operator, context) => watch((signal) => open(operator, context, signal), show, context))
}

/** A command that decides itself what it calls and how it prints it. */
export function command<const N extends OperationName>(
  about: About<N>,
  run: (operator: Operations<N>, context: Context) => Promise<void>,
): OperatorCommand<N> {
  return {
    ...about,
    options: { ...serverOptions, ...about.options },
    async run(context) {
      await run(openOperator(context), context).catch((error) => {
        throw explain(error, context)
      })
    },
  }
}

export async function answer<T>(
  calling: Promise<T>,
  show: (answer: T, context: Context) => void,
  context: Context,
): Promise<void> {
  const value = await calling
  if (context.output.mode === 'json') context.output.document(toJson(value))
  else show(value, context)
}

type Items<T> = AsyncIterable<{ readonly value: T }>

export async function watch<T>(
  open: (signal: AbortSignal) => Items<T> | Promise<Items<T>>,
  show: (event: T, context: Context) => void,
  context: Context,
): Promise<void> {
  const { output, signal, onInterrupt } = context
  const stopped = new AbortController()
  const undo = onInterrupt(() => stopped.abort())
  try {
    for await (const { value } of await open(AbortSignal.any([signal, stopped.signal]))) {
      if (output.mode === 'json') output.line(toJson(value))
      else show(value, context)
    }
  } catch (error) {
    if (!stopped.signal.aborted) throw error
  } finally {
    undo()
  }
}

/** The agent and the task of a command. The server completes a short id. */
export async function taskKey({ positionals }: Context, operator: Pick<OperatorClient, 'tasks'>): Promise<TaskKey> {
  const [agent, taskId] = positionals
  if (agent === undefined || taskId === undefined) throw usageError('Name the agent and the task.')
  return await completeKey({ agent, taskId }, operator)
}

export async function completeKey(key: TaskKey, operator: Pick<OperatorClient, 'tasks'>): Promise<TaskKey> {
  if (isComplete(key.taskId)) return key
  const { tasks } = await operator.tasks({ agent: key.agent, search: key.taskId, limit: 200 })
  const ids = tasks.map(({ taskId }) => taskId)
  return { ...key, taskId: matchTaskId(key.taskId, ids) }
}

interface TaskKey {
  readonly agent: string
  readonly taskId: string
}

export function rowText(task: TaskRow): string {
  const { agent, taskId, phase, principal, changed, events } = task
  const about = aboutText(task)
  const facts = `${agent} ${taskId} ${phase} of ${principal.id}, ${events} events, ${timeText(changed)}`
  return about === '' ? facts : `${facts}: ${about}`
}

/** What a task was asked for, and what was said last. */
export function aboutText({ request, summary }: TaskRow): string {
  return [request, summary].filter((text) => text !== undefined).join(': ')
}

/** Members that are undefined are left out, as on the wire. */
function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

function openOperator(context: Context): OperatorClient {
  const { settings } = context
  const url = serverOf(context)
  const [token, apiKey, keyFile] = [settings.text('bearer'), settings.text('api-key'), settings.text('key-file')]
  const authorization = token === undefined ? undefined : `Bearer ${token}`
  return createOperatorClient(
    defined({
      url,
      keyFile,
      headers: defined({ authorization, 'x-api-key': apiKey }),
      fetch: createFetch(context, { type: 'url', url }),
    }),
  )
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
  if (!(error instanceof OperatorError) || error.status === 0) {
    if (error instanceof Error && error.message.includes('the key of a server')) return usageError(error.message)
    return new CliError('A2ACLI_ERR_UNREACHABLE', `The server ${serverOf(context)} cannot be reached.`, {
      cause: error,
      hint: 'Check --server.',
    })
  }
  const isRefused = error.status === 401 || error.status === 403
  const ways = error.schemes.flatMap(({ description }) => description ?? [])
  const hint = isRefused
    ? [...ways, 'Send the credentials of an operator: --key-file, --bearer or --api-key.'].join(' ')
    : undefined
  return new CliError(isRefused ? 'A2ACLI_ERR_AUTH_FAILED' : 'A2ACLI_ERR_INTERNAL', error.message, {
    cause: error,
    ...defined({ hint }),
  })
}
