import { defined, isList, isObject, type Json, type JsonObject } from '../../../core/base/json.ts'
import { createFetch } from '../../agent.ts'
import { readAgentReference } from '../../agent-reference.ts'
import { agentOptions, type Command, type Context, type Option } from '../../command.ts'
import { CliError, usageError } from '../../errors.ts'
import { callLogger, untilStopped } from '../../serve/serving.ts'

/** Milliseconds for a request to a registry, which may have to fetch a card first. */
const requestTimeout = 60_000

const { bearer, 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } = agentOptions

const registryOptions = {
  registry: { type: 'text', value: 'url', summary: 'The URL of the registry.', default: 'http://127.0.0.1:4100' },
  bearer: { ...bearer, summary: 'Bearer token of the registry. Prefer A2ACLI_BEARER.' } as Option,
  ...({ 'ca-cert': caCert, cert, key, insecure, 'allow-host': allowHost } as Readonly<Record<string, Option>>),
} as const satisfies Readonly<Record<string, Option>>

const filterOptions = {
  skill: { type: 'text', value: 'name', multiple: true, summary: 'Only agents with this skill.' },
  tag: { type: 'text', value: 'name', multiple: true, summary: 'Only agents with a skill of this tag.' },
  kind: { type: 'text', value: 'kind', summary: 'Only agents of this kind.', choices: ['a2a', 'mesh'] },
  status: {
    type: 'text',
    value: 'status',
    summary: 'Only agents with this health.',
    choices: ['healthy', 'unhealthy', 'all'],
    default: 'all',
  },
  limit: { type: 'text', value: 'n', summary: 'How many agents to show, up to 100.', default: '100' },
} as const satisfies Readonly<Record<string, Option>>

export const registryServe: Command = {
  description:
    'Serves a registry of agents over HTTP. On this machine, every caller may add agents; a registry that other machines can reach is read-only.',
  options: {
    port: { type: 'text', value: 'n', summary: 'The port.', default: '4100' },
    host: { type: 'text', value: 'address', summary: 'The address to listen on.', default: '127.0.0.1' },
    store: {
      type: 'text',
      value: 'file',
      summary: 'SQLite file that keeps the entries.',
      default: 'memory',
      complete: 'file',
    },
  },
  examples: [{ line: 'parley registry serve --store registry.db', summary: 'A registry that keeps its agents' }],
  async run(context) {
    const { settings, output } = context
    const { serveRegistry } = await import('../../../entries/node.ts')
    const file = settings.text('store')
    const entries =
      file === undefined ? undefined : (await import('../../../entries/sqlite.ts')).createSqliteRegistryStore({ file })
    const server = await serveRegistry({
      port: settings.integer('port') ?? 4100,
      host: settings.text('host') ?? '127.0.0.1',
      logger: callLogger(output),
      ...defined({ entries }),
    }).catch(async (cause: unknown) => {
      await entries?.close()
      throw usageError(`The registry cannot be served: ${cause instanceof Error ? cause.message : cause}.`)
    })
    try {
      if (output.mode === 'json') output.line({ url: server.url })
      else output.field('Registry', server.url)
      await untilStopped(context)
    } finally {
      await server.close()
      await entries?.close()
    }
  },
}

export const registryList: Command = {
  description: 'Lists the agents of a registry with what it has observed about them.',
  options: { ...registryOptions, ...filterOptions },
  examples: [{ line: 'parley registry list --status healthy', summary: 'The agents that work' }],
  run: (context) => printAgents(context, undefined),
}

export const registrySearch: Command = {
  description: 'Searches the agents of a registry by words in their names, descriptions and skills.',
  positionals: [{ name: 'words', summary: 'Words, or the beginnings of words.', multiple: true }],
  options: { ...registryOptions, ...filterOptions },
  examples: [{ line: 'parley registry search translate german', summary: 'Find a translator' }],
  run: (context) => printAgents(context, context.positionals.join(' ')),
}

export const registryAdd: Command = {
  description: 'Adds an A2A agent to a registry, by its URL or the URL of its card. The registry fetches the card.',
  positionals: [{ name: 'url', summary: 'The agent.' }],
  options: registryOptions,
  examples: [{ line: 'parley registry add https://agent.example.com', summary: 'Add an agent' }],
  async run(context) {
    const url = requireUrl(context)
    const listing = await request(context, '/agents', { method: 'POST', body: JSON.stringify({ url }) })
    print(context, [listing], listing)
  },
}

export const registryProbe: Command = {
  description:
    'Shows what a registry observes about an agent: whether its card can be read and conforms, how fast it is, whether its signature is valid. It needs no registry. For a diagnosis, use parley doctor.',
  positionals: [{ name: 'agent', summary: 'The agent, as --agent-card.' }],
  options: {
    'agent-card': agentOptions['agent-card'] as Option,
    'allow-host': allowHost as Option,
  },
  examples: [{ line: 'parley registry probe https://agent.example.com', summary: 'See an agent as registries do' }],
  async run(context) {
    const reference = readAgentReference(context.settings.text('agent-card') ?? '')
    if (reference.type === 'file') throw usageError('A registry reads cards from URLs only.')
    const [{ createRegistry }, { createGuardedFetch }] = await Promise.all([
      import('../../../entries/registry.ts'),
      import('../../../entries/node.ts'),
    ])
    const { hostname } = new URL(reference.url)
    const isLocal = /^(localhost|127\..*|\[::1\])$/.test(hostname)
    const allow = [hostname.replace(/^\[|\]$/g, ''), ...context.settings.list('allow-host')]
    const fetch = createGuardedFetch({ allow, loopback: isLocal ? 'allow' : 'refuse' })
    const registry = createRegistry({ fetch, logger: callLogger(context.output) })
    try {
      const listing: JsonObject = JSON.parse(JSON.stringify(await registry.add(reference.url)))
      print(context, [listing], listing)
    } finally {
      await registry.close()
      fetch.close()
    }
  },
}

async function printAgents(context: Context, text: string | undefined): Promise<void> {
  const { settings } = context
  const query = new URLSearchParams(text === undefined ? {} : { text })
  for (const name of ['skill', 'tag']) for (const value of settings.list(name)) query.append(name, value)
  for (const name of ['kind', 'status', 'limit']) {
    const value = settings.text(name)
    if (value !== undefined) query.set(name, value)
  }
  const page = await request(context, `/agents?${query}`)
  const agents = isList(page.agents) ? page.agents.filter(isObject) : []
  print(context, agents, page)
  if (context.output.mode === 'text') context.output.field('Total', `${page.totalCount ?? agents.length}`)
}

function print({ output }: Context, agents: readonly JsonObject[], document: Json): void {
  if (output.mode === 'json') return void output.document(document)
  for (const { name, id, kind, status, seen } of agents) {
    const observations = isObject(seen)
      ? Object.entries(seen).map(([key, value]) => `${key}=${isObject(value) && value.ok === true ? 'yes' : 'no'}`)
      : []
    output.field('Agent', [name, kind, status, id, ...observations].filter((part) => part !== undefined).join(' '))
  }
}

async function request(context: Context, path: string, init: RequestInit = {}): Promise<JsonObject> {
  const { settings, signal } = context
  const url = settings.text('registry') ?? registryOptions.registry.default
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw usageError(`--registry: expected a URL, got "${url}".`)
  const fetch = createFetch(context, { type: 'url', url })
  const token = settings.text('bearer')
  const headers = defined({
    accept: 'application/json',
    'content-type': init.body != null ? 'application/json' : undefined,
    authorization: token === undefined ? undefined : `Bearer ${token}`,
  })
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(requestTimeout)])
  const response = await fetch(`${url.replace(/\/$/, '')}${path}`, { ...init, headers, signal: deadline }).catch(
    (cause) => {
      signal.throwIfAborted()
      const problem = `The registry ${url} cannot be reached.`
      throw new CliError('A2ACLI_ERR_UNREACHABLE', problem, {
        cause,
        hint: 'Check --registry, or start one: parley registry serve.',
      })
    },
  )
  const body = await response.json().catch(() => undefined)
  if (!isObject(body))
    throw new CliError('A2ACLI_ERR_INTERNAL', `${url} is no registry: it answered ${response.status} without JSON.`)
  if (response.ok) return body
  const message =
    isObject(body.error) && typeof body.error.message === 'string' ? body.error.message : `HTTP ${response.status}`
  const isRefused = response.status === 401 || response.status === 403
  throw new CliError(isRefused ? 'A2ACLI_ERR_AUTH_FAILED' : 'A2ACLI_ERR_INTERNAL', `The registry answered: ${message}`)
}

function requireUrl({ positionals }: Context): string {
  const [text = ''] = positionals
  const reference = readAgentReference(text)
  if (reference.type === 'file') throw usageError('A registry reads cards from URLs only.')
  return reference.url
}
