import { readFileSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { defined, type JsonObject, sameJson } from '../../core/base/json.ts'
import type { Operation } from '../../core/protocol/service.ts'
import type { Decision, GatewayConfig, GatewayOptions } from '../../entries/gateway.ts'
import type { Command, Context } from '../command.ts'
import { CliError, usageError } from '../errors.ts'
import { callLogger, printServer, untilStopped } from '../serve/serving.ts'

/** Milliseconds without a further change before the file is read again: editors write files in several steps. */
const settleTime = 150

export const gatewayCommand: Command = {
  description:
    'Serves the agents of a configuration file in every A2A version and binding, with task logs, callers and rules of its own. Instead of a file, the URL of an agent puts that agent behind a gateway on this machine. The file is read again on SIGHUP and when it changes; an invalid file changes nothing.',
  positionals: [{ name: 'config', summary: 'A YAML file, or the URL of an agent.', complete: 'file' }],
  options: {
    port: { type: 'text', value: 'n', summary: 'The port.', default: 'of the file, or a free one' },
    host: {
      type: 'text',
      value: 'address',
      summary: 'The address to listen on.',
      default: 'of the file, or 127.0.0.1',
    },
    directory: {
      type: 'text',
      value: 'folder',
      summary: 'Where the task logs are.',
      default: '.parley',
      complete: 'folder',
    },
    mode: {
      type: 'text',
      value: 'mode',
      summary: 'For an agent by its URL: store its tasks, or only who owns them.',
      choices: ['durable', 'pass-through'],
      default: 'durable',
    },
    check: { type: 'flag', summary: 'Check the file and end.', onlyFlag: true },
    print: { type: 'flag', summary: 'Print the configuration without its secrets, and end.', onlyFlag: true },
    explain: {
      type: 'text',
      value: 'principal,agent,operation,skill',
      summary: 'Say which rule decides about such a call, and end. The skill may be left out.',
      onlyFlag: true,
    },
  },
  examples: [
    { line: 'parley gateway https://old-agent.example', summary: 'Serve one agent in all versions on this machine' },
    { line: 'parley gateway gateway.yaml --check', summary: 'Check a configuration' },
    { line: 'parley gateway gateway.yaml --explain ada,old,sendMessage', summary: 'See which rule decides' },
  ],
  async run(context) {
    const [target = ''] = context.positionals
    if (/^https?:\/\//.test(target)) return await runGateway(context, agentAt(target, context))
    const config = await readConfig(target)
    const { settings, output } = context
    if (settings.flag('check')) return output.print(`${target} is valid.`)
    if (settings.flag('print')) return output.document(config.printed)
    const explained = settings.text('explain')
    if (explained !== undefined) return await explain(explained, config, context)
    await runGateway(context, config.options, { file: target, config })
  },
}

function agentAt(url: string, { settings }: Context): GatewayOptions {
  const mode = settings.text('mode') === 'pass-through' ? 'pass-through' : 'durable'
  return { agents: { agent: { url, mode } } }
}

async function readConfig(file: string): Promise<GatewayConfig> {
  const { readGatewayConfig } = await import('../../entries/gateway.ts')
  let yaml: string
  try {
    yaml = readFileSync(file, 'utf8')
  } catch {
    throw usageError(`There is no file ${file}.`, 'Give a YAML file, or the URL of an agent.')
  }
  const readFile = (path: string) => readFileSync(resolve(dirname(file), path), 'utf8')
  try {
    return await readGatewayConfig(yaml, { file, env: process.env, readFile })
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

async function explain(text: string, { options, principal }: GatewayConfig, { output }: Context): Promise<void> {
  const [id = '', agent = '', operation = '', skill] = text.split(',').map((each) => each.trim())
  const { explainRule } = await import('../../entries/gateway.ts')
  const { agents, from, rules } = options
  const call = { principal: principal(id), agent, operation: operation as Operation, ...defined({ skill }) }
  let decision: Decision
  try {
    decision = explainRule(defined({ agents, from, rules }), call)
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
  const verb = decision.isAllowed ? 'allowed' : 'denied'
  output.print(`${id || 'anonymous'} → ${agent} ${operation}: ${verb} by ${decision.name}`)
}

interface ConfigFile {
  readonly file: string
  readonly config: GatewayConfig
}

async function runGateway(context: Context, given: GatewayOptions, source?: ConfigFile): Promise<void> {
  const { settings, output } = context
  const { createGateway } = await import('../../entries/gateway.ts')
  const [host, directory, port] = [settings.text('host'), settings.text('directory'), settings.integer('port')]
  const options: GatewayOptions = {
    logger: callLogger(output),
    ...given,
    ...defined({ host, directory, port }),
    signals: false,
  }
  const gateway = await createGateway(options).catch((error) => {
    throw error instanceof TypeError ? usageError(error.message) : error
  })
  const unreachable = gateway.agents().find(({ state }) => state === 'unreachable')
  if (!source && unreachable) {
    await gateway.close()
    throw new CliError('A2ACLI_ERR_INTERNAL', unreachable.failure ?? 'The agent cannot be reached.')
  }
  const agents = gateway.agents().map(({ name, url }) => ({ name, url }))
  printServer(context, { agents, consoleUrl: gateway.consoleUrl })
  const stopWatching = source ? watchConfig(source.file, () => reload(source)) : () => {}

  let reloading = Promise.resolve()
  function reload({ file, config }: ConfigFile): void {
    reloading = reloading.then(async () => {
      try {
        const next = await readConfig(file)
        const { agents, from, rules } = next.options
        await gateway.update(defined({ agents, from, rules }))
        const others = changedMembers(config.printed, next.printed)
        output.note(others.length > 0 ? `Reloaded. A change of ${others.join(', ')} needs a restart.` : 'Reloaded.')
      } catch (error) {
        output.warn(
          `The file is not used, and the gateway goes on as before: ${error instanceof Error ? error.message : error}`,
        )
      }
    })
  }

  try {
    await untilStopped(context)
  } finally {
    stopWatching()
    await gateway.close()
  }
}

/** The members that changed and that a running gateway does not take. */
function changedMembers(before: JsonObject, after: JsonObject): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter(
    (name) => !['agents', 'from', 'rules'].includes(name) && !sameJson(before[name], after[name]),
  )
}

/** Watches the folder, because editors replace files instead of writing them. */
function watchConfig(file: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const watcher = watch(dirname(resolve(file)), (_, name) => {
    if (name !== basename(file)) return
    clearTimeout(timer)
    timer = setTimeout(onChange, settleTime)
  })
  process.on('SIGHUP', onChange)
  return () => {
    clearTimeout(timer)
    watcher.close()
    process.off('SIGHUP', onChange)
  }
}
