import { closest } from '../core/base/closest.ts'
import { type Arguments, leadingWords, parseArguments } from './arguments.ts'
import { agentOptions, type CommandEntry, type Context, globalOptions, type Positional } from './command.ts'
import { commands, commandsBelow, findCommand } from './commands.ts'
import { CliError, Interrupted, toFailure, usageError } from './errors.ts'
import { createOutput, type Output } from './output.ts'
import { readSettings } from './settings.ts'
import { readVersion } from './version.ts'

/** Runs the command of these arguments and ends the process with its exit code. */
export async function run(args: readonly string[]): Promise<void> {
  // The reader of a pipe may leave early, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  process.stderr.on('error', () => {})
  // Node's warnings, such as those about experimental modules, are not for users of a program.
  process.removeAllListeners('warning')
  const plain = createOutput({ mode: wantsJson(args) ? 'json' : 'text', isVerbose: false, isDebugging: false })
  try {
    await dispatch(args)
    await exit(Number(process.exitCode ?? 0))
  } catch (error) {
    if (error instanceof Interrupted) await exit(interruptedExitCode)
    const failure = toFailure(error)
    plain.failure(failure, args.includes('--stream'))
    await exit(failure.exitCode)
  }
}

/** 128 and the number of SIGINT, as shells report it. */
const interruptedExitCode = 130

async function dispatch(args: readonly string[]): Promise<void> {
  const { words, indexes } = leadingWords(args, { ...globalOptions, ...agentOptions })
  const found = findCommand(words)
  if (!found) return await withoutCommand(args, words)
  const { entry, length } = found
  const own = new Set(indexes.slice(0, length))
  await runCommand(
    entry,
    args.filter((_, index) => !own.has(index)),
  )
}

/** `parley`, `parley --help`, `parley --version`, `parley task` and unknown commands. */
async function withoutCommand(args: readonly string[], words: readonly string[]): Promise<void> {
  const { commandList } = await import('./help.ts')
  const { style } = createOutput({ mode: 'text', isVerbose: false, isDebugging: false })
  if (words.length === 0) {
    const { options } = parseArguments(args, { path: '', options: globalOptions, positionals: [] })
    process.stdout.write(`${options.has('version') ? readVersion() : commandList(commands, style)}\n`)
    return
  }
  const below = commandsBelow(words.slice(0, 1))
  if (below.length > 0 && words.length === 1 && args.some((arg) => arg === '--help' || arg === '-h')) {
    process.stdout.write(`${commandList(below, style)}\n`)
    return
  }
  if (below.length > 0) {
    const names = below.map(({ path }) => path.slice((words[0]?.length ?? 0) + 1))
    throw usageError(`parley ${words[0]} needs one of: ${names.join(', ')}.`, `See parley ${words[0]} --help.`)
  }
  const word = words[0] ?? ''
  const near = closest(word, [...new Set(commands.flatMap(({ path }) => [path, path.split(' ')[0] ?? '']))])
  throw usageError(
    `parley has no command "${word}".`,
    near === undefined ? 'See parley help.' : `Did you mean parley ${near}?`,
  )
}

async function runCommand(entry: CommandEntry, args: readonly string[]): Promise<void> {
  const command = await entry.load()
  const options = { ...globalOptions, ...command.options }
  const { positionals = [] } = command
  const parsed = parseArguments(args, { path: entry.path, options, positionals })
  if (parsed.options.has('version')) return void process.stdout.write(`${readVersion()}\n`)
  if (parsed.options.has('help')) {
    const { commandHelp } = await import('./help.ts')
    const { style } = createOutput({ mode: 'text', isVerbose: false, isDebugging: false })
    return void process.stdout.write(`${commandHelp(entry, command, style)}\n`)
  }
  const settings = readSettings(options, withAgent(parsed, positionals))
  const output = createOutput({
    mode: settings.text('output') === 'json' ? 'json' : 'text',
    isVerbose: settings.flag('verbose'),
    isDebugging: settings.flag('debug'),
  })
  for (const [name, { secret }] of Object.entries(options)) if (secret) output.hide(settings.text(name))
  const interrupts = createInterrupts(settings.duration('timeout'))
  const context: Context = {
    positionals: parsed.positionals,
    ordered: parsed.ordered,
    commands,
    settings,
    output,
    signal: interrupts.signal,
    onInterrupt: interrupts.onInterrupt,
  }
  try {
    await command.run(context)
  } catch (error) {
    const reason = interrupts.signal.aborted ? interrupts.signal.reason : error
    if (reason instanceof Interrupted) return await reportInterrupt(output)
    const failure = toFailure(reason, entry.path)
    output.failure(failure, 'stream' in options && settings.flag('stream'))
    if (error instanceof Error && !(error instanceof CliError)) output.debug(`${error.stack}`)
    await exit(failure.exitCode)
  } finally {
    interrupts.release()
  }
}

/** An agent that is a positional argument counts as `--agent-card`. */
function withAgent({ options, positionals }: Arguments, declared: readonly Positional[]): Arguments['options'] {
  const reference = positionals[declared.findIndex(({ name }) => name === 'agent')]
  return reference === undefined ? options : new Map([['agent-card', [reference]], ...options])
}

async function reportInterrupt(output: Output): Promise<never> {
  output.note('Interrupted.')
  return await exit(interruptedExitCode)
}

interface Interrupts extends Pick<Context, 'signal' | 'onInterrupt'> {
  release(): void
}

function createInterrupts(timeout: number | undefined): Interrupts {
  const aborter = new AbortController()
  let handler: (() => void) | undefined
  const interrupt = () => (handler ? handler() : aborter.abort(new Interrupted('The command was interrupted.')))
  const terminate = () => aborter.abort(new Interrupted('The command was terminated.'))
  process.on('SIGINT', interrupt).on('SIGTERM', terminate)
  const timer =
    timeout === undefined
      ? undefined
      : setTimeout(() => {
          const problem = `The command did not finish within ${timeout / 1000} seconds.`
          const hint = 'Raise --timeout. A task that was started continues: see parley task get.'
          aborter.abort(new CliError('A2ACLI_ERR_TIMEOUT', problem, { hint }))
        }, timeout)
  return {
    signal: aborter.signal,
    onInterrupt(next) {
      handler = next
      return () => {
        if (handler === next) handler = undefined
      }
    },
    release() {
      clearTimeout(timer)
      process.off('SIGINT', interrupt).off('SIGTERM', terminate)
    },
  }
}

/** Ends the process once stdout has taken everything. */
async function exit(code: number): Promise<never> {
  await new Promise((resolve) => process.stdout.write('', resolve))
  process.exit(code)
}

/** Before the options are read, only their text shows in which form an error is expected. */
function wantsJson(args: readonly string[]): boolean {
  const at = args.findIndex((arg) => arg === '-o' || arg === '--output')
  if (at !== -1) return args[at + 1] === 'json'
  if (args.some((arg) => arg === '-ojson' || arg === '--output=json')) return true
  return process.env.A2ACLI_OUTPUT === 'json'
}
