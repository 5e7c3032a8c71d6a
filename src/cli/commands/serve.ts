import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { basename, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defined, isObject, type Json } from '../../core/base/json.ts'
import type { ServeOptions } from '../../entries/index.ts'
import type { Agent } from '../../entries/server.ts'
import type { Command, Context } from '../command.ts'
import { CliError, usageError } from '../errors.ts'
import { callLogger, callTelemetry, printServer, type ServedAgent, untilStopped } from '../serve/serving.ts'

export const serveCommand: Command = {
  description:
    'Serves the default export of each file: an agent, several by their paths, or a list of agents. TypeScript runs as it is: Node strips the types. When a file changes, the server starts again on the same port; tasks survive it, because their logs are files. Every option of serve() can be set by --set, or by the default export of the file that --options names.',
  positionals: [
    { name: 'file', summary: 'A module whose default export is an agent.', multiple: true, complete: 'file' },
  ],
  options: {
    port: { type: 'text', value: 'n', summary: 'The port.', default: 'a free one' },
    host: { type: 'text', value: 'address', summary: 'The address to listen on.', default: '127.0.0.1' },
    'public-url': { type: 'text', value: 'url', summary: 'The URL at which callers reach the server.' },
    directory: {
      type: 'text',
      value: 'folder',
      summary: 'Where the task logs are.',
      default: '.parley',
      complete: 'folder',
    },
    grpc: { type: 'flag', summary: 'Also serve gRPC.' },
    push: { type: 'flag', summary: 'Let callers register webhooks.' },
    metrics: { type: 'flag', summary: 'Serve metrics at /metrics.' },
    'allow-anyone': { type: 'flag', summary: 'Accept callers without credentials also from other machines.' },
    set: {
      type: 'text',
      value: 'name=json',
      multiple: true,
      summary: 'Set any option of serve(), such as turns.deadline=60000.',
      onlyFlag: true,
    },
    options: {
      type: 'text',
      value: 'file',
      summary: 'A module or JSON file with options of serve().',
      complete: 'file',
    },
    'no-reload': { type: 'flag', summary: 'Do not watch the files.', onlyFlag: true, default: 'watch' },
  },
  examples: [
    { line: 'parley serve agent.ts --port 4000', summary: 'Serve an agent and reload it when it changes' },
    { line: 'parley serve one.ts two.ts --grpc', summary: 'Serve several agents, each at the path of its file name' },
    {
      line: 'parley serve agent.ts --set turns.deadline=60000 --set http.bodyLimit=1048576',
      summary: 'Set other options',
    },
  ],
  async run(context) {
    const { settings, positionals } = context
    for (const file of positionals) if (!existsSync(file)) throw usageError(`There is no file ${file}.`)
    const isChild = process.send !== undefined && process.env.PARLEY_SERVE_CHILD === '1'
    if (!settings.flag('no-reload') && !isChild) {
      const { serveWithReload } = await import('../serve/serve-reload.ts')
      return await serveWithReload(context)
    }
    if (isChild) await reportLoadedFiles()
    await serveFiles(context)
  },
}

async function serveFiles(context: Context): Promise<void> {
  const { output, positionals } = context
  const agents = await loadAgents(positionals)
  const options = await serveOptions(context)
  const { serve } = await import('../../entries/index.ts')
  const only = Object.keys(agents).length === 1 ? agents[''] : undefined
  const server = await serve(only ?? agents, {
    logger: callLogger(output),
    telemetry: callTelemetry(output),
    ...options,
    // The author of the agent reads this log.
    turns: { errorMessages: true, ...options.turns },
    signals: false,
  }).catch((error) => {
    throw isOptionError(error) ? usageError(error.message) : error
  })
  const served = Object.entries(agents).map(
    ([path, { profile }]): ServedAgent => ({ name: profile.name, url: `${server.url}${path}` }),
  )
  const { port, consoleUrl } = server
  if (process.send) process.send({ type: 'listening', port, agents: served, consoleUrl })
  else printServer(context, { agents: served, consoleUrl })
  try {
    await (process.send ? untilParentStops(context) : untilStopped(context))
  } finally {
    await server.close()
  }
}

/** Ctrl-C reaches the child too, but the parent decides when it ends. */
async function untilParentStops({ signal, onInterrupt }: Context): Promise<void> {
  onInterrupt(() => {})
  await Promise.race([once(process, 'disconnect'), once(signal, 'abort')])
}

function isOptionError(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('serve')
}

/** The agents by their paths. A single one is at the root. */
async function loadAgents(files: readonly string[]): Promise<Readonly<Record<string, Agent>>> {
  const loaded = await Promise.all(files.map(async (file) => ({ file, value: await importDefault(file) })))
  const all = loaded.flatMap(({ file, value }): (readonly [string, Agent])[] => {
    const list = isAgent(value)
      ? [['', value] as const]
      : Object.entries(isObject(value) || Array.isArray(value) ? value : {})
    const agents = list.filter((entry): entry is [string, Agent] => isAgent(entry[1]))
    if (agents.length === 0 || agents.length < list.length) {
      throw usageError(
        `${file}: expected the default export to be an agent, or several by their paths.`,
        `Write: export default agent({ name: 'My agent' }, (turn) => …).`,
      )
    }
    if (isAgent(value)) return [[files.length === 1 ? '' : `/${basename(file, extname(file))}`, value]]
    return agents.map(([name, agent]) => [Array.isArray(value) ? `/${slug(agent.profile.name)}` : toPath(name), agent])
  })
  const paths = all.map(([path]) => path)
  const twice = paths.find((path, index) => paths.indexOf(path) !== index)
  if (twice !== undefined)
    throw usageError(`Two agents have the path "${twice}".`, 'Export them by paths of your choice.')
  return Object.fromEntries(all)
}

function isAgent(value: unknown): value is Agent {
  return typeof value === 'object' && value !== null && 'run' in value && 'profile' in value
}

function toPath(name: string): string {
  return name === '' || name.startsWith('/') ? name : `/${name}`
}

function slug(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

async function importDefault(file: string): Promise<unknown> {
  const url = pathToFileURL(resolve(file)).href
  try {
    if (file.endsWith('.json')) return (await import(url, { with: { type: 'json' } })).default
    return (await import(url)).default
  } catch (error) {
    const message = `${file} cannot be loaded: ${error instanceof Error ? error.message : error}`
    throw new CliError('A2ACLI_ERR_INTERNAL', message, { cause: error, hint: loadHint(error) })
  }
}

function loadHint(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return 'TypeScript files need Node 22.18 or newer.'
  }
  if (!(error instanceof Error)) return 'Run the file with node to see more.'
  // npm init writes "type": "commonjs", and Node reads .ts files as package.json says.
  return /outside a module|Unexpected token 'export'/.test(error.message)
    ? 'Write "type": "module" into package.json, or rename the file to .mts.'
    : firstPlace(error)
}

/** Where in the user's files the error was thrown. */
function firstPlace({ stack = '' }: Error): string {
  const place = /^(file:\/\/\S+:\d+)$/m.exec(stack)?.[1] ?? /(file:\/\/\S+?:\d+:\d+)/.exec(stack)?.[1]
  return place === undefined ? 'Run the file with node to see more.' : `See ${place}.`
}

async function serveOptions({ settings }: Context): Promise<ServeOptions> {
  const file = settings.text('options')
  const base = file === undefined ? {} : await importDefault(file)
  if (!isObject(base)) throw usageError(`--options: expected ${file} to have an object as its default export.`)
  const [host, publicUrl, directory] = [settings.text('host'), settings.text('public-url'), settings.text('directory')]
  const port = settings.integer('port')
  const flags = defined({
    port,
    host,
    publicUrl,
    directory,
    grpc: settings.flag('grpc') ? true : undefined,
    push: settings.flag('push') ? {} : undefined,
    metrics: settings.flag('metrics') ? true : undefined,
    auth: settings.flag('allow-anyone') ? 'none' : undefined,
  })
  const options: Record<string, unknown> = { ...base, ...flags }
  for (const text of settings.list('set')) setOption(options, text)
  return options
}

/** `turns.deadline=60000` sets a member of a group. Values that are not JSON are texts. */
function setOption(options: Record<string, unknown>, text: string): void {
  const at = text.indexOf('=')
  if (at < 1) throw usageError(`--set: expected name=value, got "${text}".`)
  const names = text.slice(0, at).split('.')
  const last = names.pop() ?? ''
  if ([...names, last].some((name) => name === '__proto__' || name === ''))
    throw usageError(`--set: "${text}" has no name.`)
  let group = options
  for (const name of names) {
    const inner = isObject(group[name]) ? { ...group[name] } : {}
    group[name] = inner
    group = inner
  }
  group[last] = parseValue(text.slice(at + 1))
}

function parseValue(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Reports every file that is loaded to the parent, which watches them. */
async function reportLoadedFiles(): Promise<void> {
  const { registerHooks } = (await import('node:module')) as { registerHooks?: RegisterHooks }
  registerHooks?.({
    load(url, context, next) {
      if (url.startsWith('file:') && !url.includes('/node_modules/')) process.send?.({ type: 'file', url })
      return next(url, context)
    },
  })
}

/** Part of Node since 22.15. */
type RegisterHooks = (hooks: {
  load(url: string, context: object, next: (url: string, context: object) => unknown): unknown
}) => void
