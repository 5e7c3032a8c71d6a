import { defined, type JsonObject } from '../../core/base/json.ts'
import { packageVersion } from '../../core/base/package-version.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { CredentialProvider } from '../../entries/client-auth.ts'
import type { ConnectCredentials, ConnectRequest } from '../../entries/operator.ts'
import type { OpenAgentHooks, OpenedAgent } from '../../serve/console-relay.ts'
import { createFetch, credentialsOf, openAgent } from '../agent.ts'
import { readAgentReference } from '../agent-reference.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { CliError } from '../errors.ts'
import { readConsoleAgents, rememberConsoleAgent } from '../recent-agents.ts'
import { callLogger, untilStopped } from '../serve/serving.ts'

export const consoleCommand: Command = {
  description:
    'Opens the console for agents of other servers: chat, tasks, cards, checks and raw requests in a browser. Without an agent, its first page asks for one. It speaks every version of A2A, and shows what was sent and received. The browser talks to this process only, which calls the agents with your credentials and listens on this machine only. The printed address has a token that is valid once.',
  positionals: [
    { name: 'agent', summary: 'The agents, as --agent-card.', optional: true, multiple: true, complete: 'agent' },
  ],
  options: {
    ...agentOptions,
    port: { type: 'text', value: 'n', summary: 'The port.', default: 'a free one' },
  },
  examples: [
    { line: 'parley console', summary: 'Choose an agent in the browser' },
    { line: 'parley console https://agent.example.com', summary: 'Try an agent in a browser' },
    { line: 'A2ACLI_BEARER=… parley console https://one.example.com https://two.example.com', summary: 'Two agents' },
  ],
  async run(context) {
    const { settings, output, positionals } = context
    const reference = settings.text('agent-card')
    const references = positionals.length > 0 || reference === undefined ? positionals : [reference]
    const [{ openConsoleRelay }, { listen }] = await Promise.all([
      import('../../serve/console-relay.ts'),
      import('../../core/node/listen.ts'),
    ])
    let address: string | undefined
    let isReady = false
    const relay = openConsoleRelay({
      // The agents of the command line get its credentials. Those of the form get the ones of the form.
      open: (request, hooks) => (isReady ? openFromForm : open)(context, request, hooks),
      recent: { list: readConsoleAgents, add: rememberConsoleAgent },
      redact: output.redact,
      version: packageVersion,
      logger: callLogger(output),
      address: () => address,
    })
    for (const url of references) await relay.connect({ url })
    isReady = true
    const server = await listen(relay.exchange, { port: settings.integer('port') ?? 0, host: '127.0.0.1' })
    address = server.url
    const url = `${server.url}${relay.path}`
    try {
      if (output.mode === 'json') output.line({ url })
      else output.field('Console', url)
      await untilStopped(context)
    } finally {
      await server.close({ deadline: 0 })
    }
  },
}

async function openFromForm(context: Context, request: ConnectRequest, hooks: OpenAgentHooks): Promise<OpenedAgent> {
  const { settings } = context
  const without = (name: string) => name === 'bearer' || name === 'api-key'
  const own = {
    ...settings,
    unused: [],
    text: (name: string) => (without(name) ? undefined : settings.text(name)),
    setting: (name: string) => (without(name) ? undefined : settings.setting(name)),
  }
  try {
    return await open({ ...context, settings: own }, request, hooks)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    // Names of options mean nothing to a form.
    throw new A2AError('invalid-params', error.message.replace(/^--agent-card:? ?/, 'The address: '), { cause: error })
  }
}

/** Connects to an agent in whatever version it speaks: the console shows which one. */
async function open(
  context: Context,
  { url, headers = {}, credentials }: ConnectRequest,
  { record, redirectUri, authorize }: OpenAgentHooks,
): Promise<OpenedAgent> {
  const { settings, output } = context
  if (credentials?.secret !== undefined) output.hide(credentials.secret)
  for (const value of Object.values(headers)) output.hide(value)
  const text = (name: string) => (name === 'agent-card' ? url : settings.text(name))
  const flag = (name: string) => name === 'legacy' || settings.flag(name)
  const own = { ...context, settings: { ...settings, text, flag } }
  const reference = readAgentReference(url)
  const origin = reference.type === 'file' ? undefined : new URL(reference.url).origin
  const withHeaders = (fetch: Fetch): Fetch => {
    if (Object.keys(headers).length === 0) return fetch
    return (address, init) => {
      if (new URL(address).origin !== origin) return fetch(address, init)
      return fetch(address, { ...init, headers: { ...headers, ...Object.fromEntries(new Headers(init.headers)) } })
    }
  }
  const providers = credentials ? await providersOf(credentials, redirectUri, authorize) : []
  let received: JsonObject | undefined
  const { client, wireCard } = await openAgent(own, {
    providers,
    wrapFetch: (fetch) => withHeaders(record(fetch)),
    onCard: (wire) => {
      received = wire
    },
  }).catch(async (error) => {
    throw await withViolations(error, received)
  })
  const fetch = withHeaders(createFetch(own, reference))
  const all = credentialsOf(own, url, providers)
  const { card, service } = client
  if (credentials?.type === 'oauth') await logIn(all, card, fetch)
  const server = reference.type === 'file' ? (card.interfaces[0]?.url ?? reference.url) : reference.url
  return { url: server.replace(/\/$/, ''), card, wireCard, service, fetch, providers: all }
}

/** The error for a card that cannot be used, with everything that is wrong with it. */
async function withViolations(error: unknown, wire: JsonObject | undefined): Promise<unknown> {
  if (!(error instanceof A2AError) || !wire) return error
  const { validateCard } = await import('../../conformance/doctor/validate-card.ts')
  const { violations } = await validateCard(wire)
  if (violations.length === 0) return error
  const problem = `${error.message} The card breaks its schema: ${violations.join('; ')}.`
  return new A2AError(error.code, problem, { cause: error, ...defined({ hint: error.hint, reason: error.reason }) })
}

type Fetch = ReturnType<typeof createFetch>

async function providersOf(
  credentials: ConnectCredentials,
  redirectUri: string,
  authorize: OpenAgentHooks['authorize'],
): Promise<readonly CredentialProvider[]> {
  const auth = await import('../../entries/client-auth.ts')
  switch (credentials.type) {
    case 'bearer':
      return [auth.bearer(credentials.secret)]
    case 'api-key':
      return [auth.apiKeyCredentials(credentials.secret)]
    case 'basic':
      return [auth.basicCredentials({ username: credentials.user, password: credentials.secret })]
    case 'oauth': {
      const { clientId, secret, scopes = [] } = credentials
      // The form says which server gets the secret.
      const client = { clientId, scopes, ...(secret !== undefined && { clientSecret: secret, trustCard: true }) }
      const byCode = auth.authorizationCode({ ...client, redirectUri, authorize })
      return secret === undefined ? [byCode] : [byCode, auth.clientCredentials(client)]
    }
  }
}

/** Obtains the first token now, while the operator is at the form. */
async function logIn(
  providers: readonly CredentialProvider[],
  { securitySchemes = {}, security = [] }: OpenedAgent['card'],
  fetch: Fetch,
): Promise<void> {
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    const provider = providers.find(({ fits }) => fits(scheme))
    if (!provider) continue
    const scopes = security.flatMap((requirement) => requirement[name] ?? [])
    await provider.credentialsFor({ scheme, scopes, fetch })
    return
  }
  const problem = 'The card declares no OAuth 2 flow for codes or clients, and no OpenID Connect.'
  throw new A2AError('unauthenticated', problem, { hint: 'See its security schemes, and choose other credentials.' })
}
