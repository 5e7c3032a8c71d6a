import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { defined } from '../../core/base/json.ts'
import type { Logger, Telemetry } from '../../entries/server.ts'
import type { Context } from '../command.ts'
import type { Output } from '../output.ts'

export interface ServedAgent {
  readonly name: string
  readonly url: string
}

export interface ServedAgents {
  readonly agents: readonly ServedAgent[]
  /** The address of the console. Undefined if the server has none. */
  readonly consoleUrl: string | undefined
}

/** Prints where agents are served, with commands to copy. JSON has one document with the addresses. */
export function printServer({ output }: Pick<Context, 'output'>, { agents, consoleUrl }: ServedAgents): void {
  if (output.mode === 'json') {
    const described = agents.map(({ name, url }) => ({ name, url, card: cardUrl(url) }))
    output.line(defined({ agents: described, console: consoleUrl }))
    return
  }
  for (const { name, url } of agents) {
    output.field('Agent', name)
    output.field('URL', url)
    output.field('Card', cardUrl(url))
  }
  if (consoleUrl !== undefined) output.field('Console', consoleUrl)
  const [first] = agents
  if (!first) return
  output.print('')
  output.print('Try it:')
  output.print(`  parley send -a ${first.url} "Hello"`)
  output.print(`  parley chat ${first.url}`)
  output.print(`  curl ${cardUrl(first.url)}`)
  output.print('')
}

/** Resolves on Ctrl-C, on SIGTERM, or when the command times out. */
export async function untilStopped({ signal, onInterrupt, output }: Context): Promise<void> {
  const stopped = Promise.withResolvers<void>()
  const undo = onInterrupt(() => stopped.resolve())
  signal.addEventListener('abort', () => stopped.resolve())
  await stopped.promise
  undo()
  output.note('Stopping.')
}

/** The log of a server for people: one line on stderr for each entry. */
export function callLogger(output: Output): Logger {
  const write = (level: string, fields: object, message: string) => {
    const {
      error,
      hint: _,
      contextId: __,
      ...rest
    } = fields as { error?: unknown; hint?: unknown; contextId?: unknown }
    const details = Object.entries(rest).map(([name, value]) => `${name}=${short(value)}`)
    output.note([time(), level, message, ...details].join(' '))
    if (error !== undefined) output.note(errorText(error))
  }
  return {
    debug: (fields, message) => output.isDebugging && write('debug', fields, message),
    info: (fields, message) => output.isVerbose && write('info ', fields, message),
    warn: (fields, message) => write('warn ', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
}

/** Writes a line for each call and each turn when it ends. */
export function callTelemetry(output: Output): Telemetry {
  return {
    begin(activity) {
      const start = performance.now()
      let details: { taskId?: string; state?: string } = {}
      let isEnded = false
      return {
        trace: undefined,
        run: (work) => work(),
        addDetails(more) {
          details = { ...details, ...more }
        },
        end(failure) {
          if (isEnded || (activity.type !== 'operation' && activity.type !== 'turn')) return
          isEnded = true
          const what = activity.type === 'turn' ? 'turn' : activity.operation
          const { taskId = activity.type === 'turn' ? activity.taskId : undefined, state } = details
          // The log has the error of a turn.
          const problem = activity.type === 'turn' ? '' : `: ${messageOf(failure)}`
          const outcome = failure === undefined ? (state ?? 'ok') : `failed${problem}`
          const duration = `${Math.round(performance.now() - start)} ms`
          output.note([time(), what.padEnd(16), outcome, taskId, duration].filter(Boolean).join('  '))
        },
      }
    },
  }
}

/** An error as its author wants to read it: what it says, where in the files of the project it came from, and its causes. */
function errorText(error: unknown, label = ''): string {
  if (typeof error !== 'object' || error === null) return `  ${label}${inspect(error)}`
  const { name = 'Error', message, stack = '', cause } = error as Partial<Error>
  const frames = `${stack}`.split('\n').filter((line) => /^\s+at /.test(line))
  const own = frames.filter((line) => !/node:|node_modules|\/parley-a2a\/|\/src\/core\//.test(line))
  const shown = (own.length > 0 ? own : frames)
    .slice(0, maxFrames)
    .map((line) => `    ${line.trim().replace(folder, '')}`)
  const head = `  ${label}${name}${message ? `: ${message}` : ''}`
  return [head, ...shown, ...(cause === undefined ? [] : [errorText(cause, 'caused by ')])].join('\n')
}

const maxFrames = 8

/** The folder of the project, which is the same in every line. */
const folder = `${pathToFileURL(process.cwd()).href}/`

function cardUrl(url: string): string {
  return `${url}/.well-known/agent-card.json`
}

function time(): string {
  return new Date().toTimeString().slice(0, 8)
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : inspect(value, { breakLength: Number.POSITIVE_INFINITY })
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : `${failure}`
}
