import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unlessAborted } from '../../core/base/abort.ts'
import { defined } from '../../core/base/json.ts'
import { readPeerCard } from '../../core/dialects/peer-card.ts'
import type { AgentCard, SecurityScheme } from '../../entries/client.ts'
import type { Token } from '../../entries/client-auth.ts'
import { createFetch, fetchCard, requireReference } from '../agent.ts'
import { agentKey, readAgentReference } from '../agent-reference.ts'
import { describeScheme } from '../cards/render-card.ts'
import { agentOptions, type Command, type Context, clientOptions } from '../command.ts'
import { Interrupted, usageError } from '../errors.ts'
import { credentialsFile, type Login, type LoginFlow, providerOf, readLogins, writeLogin } from '../token-store.ts'

export const authLogin: Command = {
  description:
    'Obtains credentials as the card of the agent requires, and stores them for later commands in a file that only you can read. OAuth 2 uses the device code, client credentials or authorization code flow; for bearer tokens and API keys, the secret is read from stdin or asked for.',
  options: {
    ...agentOptions,
    ...clientOptions,
    scheme: {
      type: 'text',
      value: 'name',
      summary: 'The security scheme of the card.',
      default: 'the first that works',
    },
    flow: {
      type: 'text',
      value: 'name',
      summary: 'The flow for OpenID Connect, which leaves it open.',
      choices: ['device-code', 'client-credentials', 'authorization-code'],
    },
    scope: { type: 'text', value: 'name', multiple: true, summary: 'Scope to request besides those of the card.' },
    issuer: { type: 'text', value: 'url', summary: 'The only issuer that may get the client secret.' },
    'token-url': { type: 'text', value: 'url', summary: 'The only token endpoint that may get the client secret.' },
    'trust-card': { type: 'flag', summary: 'Send the client secret to the server that the card names.' },
    'no-browser': { type: 'flag', summary: 'Print the address instead of opening a browser.' },
  },
  examples: [
    { line: 'parley auth login -a https://agent.example.com --client-id my-cli', summary: 'Log in on another device' },
    {
      line: 'A2ACLI_CLIENT_SECRET=… parley auth login -a https://agent.example.com --client-id ci --trust-card',
      summary: 'Log in a program',
    },
    {
      line: 'parley auth login -a https://agent.example.com < token.txt',
      summary: 'Store a bearer token or an API key',
    },
  ],
  async run(context) {
    const { output, signal, settings } = context
    const reference = requireReference(context)
    const { card } = await readPeerCard((await fetchCard(context)).wire)
    const { name, scheme, scopes, flow } = chooseScheme(card, context)
    const key = agentKey(reference)
    const base: Login = { flow, scheme: name, ...clientOf(context, flow) }
    if (flow === 'bearer' || flow === 'api-key') {
      writeLogin(key, { ...base, secret: await readSecret(context, describeScheme(scheme)) })
      return report(context, reference, readLogins()[key])
    }
    const secret = settings.text('client-secret')
    const redirect = flow === 'authorization-code' ? await openRedirect(context) : undefined
    try {
      const provider = providerOf(base, key, {
        ...defined({ clientSecret: secret }),
        onPrompt: (prompt) => {
          output.note(`Open ${prompt.verificationUriComplete ?? prompt.verificationUri}`)
          output.note(`Code: ${prompt.userCode}`)
          output.note('Waiting until you have agreed. Ctrl-C stops.')
        },
        ...redirect,
        onToken: hideToken(context),
      })
      const fetch = createFetch(context, readAgentReference(reference))
      await unlessAborted(Promise.resolve(provider.credentialsFor({ scheme, scopes, fetch })), signal)
    } finally {
      redirect?.close()
    }
    report(context, reference, readLogins()[key])
  },
}

export const authLogout: Command = {
  description: 'Forgets the stored credentials of an agent, or of all.',
  options: { ...agentOptions, all: { type: 'flag', summary: 'Forget the credentials of all agents.', onlyFlag: true } },
  examples: [{ line: 'parley auth logout -a https://agent.example.com', summary: 'Log out' }],
  async run(context) {
    const { settings, output } = context
    const logins = Object.keys(readLogins())
    const keys = settings.flag('all') ? logins : [agentKey(requireReference(context))]
    const known = keys.filter((key) => logins.includes(key))
    for (const key of known) writeLogin(key, undefined)
    if (output.mode === 'json') return output.document({ loggedOut: known })
    for (const key of known) output.field('Logged out', key)
    if (known.length === 0) output.note('There was no login.')
  },
}

export const authStatus: Command = {
  description: 'Shows at which agents you are logged in. Credentials are not shown.',
  options: agentOptions,
  examples: [{ line: 'parley auth status', summary: 'Show all logins' }],
  async run({ settings, output }) {
    const reference = settings.text('agent-card')
    const logins = Object.entries(readLogins()).filter(
      ([key]) => reference === undefined || key === agentKey(reference),
    )
    if (output.mode === 'json') {
      return output.document({
        file: credentialsFile(),
        logins: logins.map(([agent, login]) => describe(agent, login)),
      })
    }
    for (const [agent, login] of logins) {
      for (const [label, value] of Object.entries(describe(agent, login)))
        output.field(labels[label] ?? label, `${value}`)
      output.print('')
    }
    if (logins.length === 0) output.note('There are no logins. Log in: parley auth login --agent-card <ref>.')
  },
}

const labels: Readonly<Record<string, string>> = {
  agent: 'Agent',
  scheme: 'Scheme',
  flow: 'Flow',
  expires: 'Expires',
  isExpired: 'Expired',
  renews: 'Renews itself',
}

function describe(agent: string, { flow, scheme, tokens = {} }: Login) {
  const all = Object.values(tokens)
  const expiresAt = Math.max(...all.map((token) => token.expiresAt))
  const hasEnd = all.length > 0 && Number.isFinite(expiresAt) && expiresAt < 8.64e15
  return defined({
    agent,
    scheme,
    flow,
    expires: hasEnd ? new Date(expiresAt).toISOString() : undefined,
    isExpired: hasEnd ? expiresAt < Date.now() : undefined,
    renews: all.length > 0 ? all.some(({ refreshToken }) => refreshToken !== undefined) : undefined,
  })
}

function report({ output }: Context, reference: string, login: Login | undefined): void {
  if (!login) return
  const description = describe(agentKey(reference), login)
  if (output.mode === 'json') return void output.document(description)
  for (const [label, value] of Object.entries(description)) output.field(labels[label] ?? label, `${value}`)
  output.note(`Stored in ${credentialsFile()}.`)
}

function clientOf({ settings }: Context, flow: LoginFlow): Partial<Login> {
  if (flow === 'bearer' || flow === 'api-key') return {}
  const [clientId, issuer, tokenUrl] = [settings.text('client-id'), settings.text('issuer'), settings.text('token-url')]
  if (clientId === undefined) throw usageError('The agent uses OAuth 2: pass --client-id <id>, as registered there.')
  const mayTrust = issuer !== undefined || tokenUrl !== undefined || settings.flag('trust-card')
  if (settings.text('client-secret') !== undefined && !mayTrust) {
    throw usageError(
      'The client secret would go to a server that only the card names.',
      'Name the server by --issuer or --token-url, or trust the card by --trust-card.',
    )
  }
  const scopes = settings.list('scope')
  return defined({
    clientId,
    issuer,
    tokenUrl,
    scopes: scopes.length > 0 ? scopes : undefined,
    trustsCard: settings.flag('trust-card') ? true : undefined,
  })
}

interface ChosenScheme {
  readonly name: string
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
  readonly flow: LoginFlow
}

/** The scheme that the card requires first, among those that a login can serve. */
function chooseScheme({ name: agent, security = [], securitySchemes = {} }: AgentCard, context: Context): ChosenScheme {
  const wanted = context.settings.text('scheme')
  const required = security.flatMap((requirement) => Object.entries(requirement))
  const names = [...new Set([...required.map(([name]) => name), ...Object.keys(securitySchemes)])]
  for (const name of wanted === undefined ? names : [wanted]) {
    const scheme = securitySchemes[name]
    const flow = scheme && flowOf(scheme, context)
    if (scheme && flow) return { name, scheme, flow, scopes: required.find(([other]) => other === name)?.[1] ?? [] }
  }
  const offered = Object.entries(securitySchemes).map(([name, scheme]) => `${name} (${describeScheme(scheme)})`)
  if (offered.length === 0) throw usageError(`${agent} declares no security scheme, so there is nothing to log in to.`)
  throw usageError(
    `No login fits the schemes of ${agent}: ${offered.join(', ')}.`,
    'Choose one by --scheme and --flow.',
  )
}

function flowOf(scheme: SecurityScheme, { settings }: Context): LoginFlow | undefined {
  const wanted = settings.text('flow') as LoginFlow | undefined
  switch (scheme.type) {
    case 'http':
      return scheme.scheme.toLowerCase() === 'bearer' && wanted === undefined ? 'bearer' : undefined
    case 'api-key':
      return wanted === undefined ? 'api-key' : undefined
    case 'oauth2': {
      const { type } = scheme.flow
      const isSupported = type === 'device-code' || type === 'client-credentials' || type === 'authorization-code'
      return isSupported && (wanted ?? type) === type ? type : undefined
    }
    case 'openid':
      return wanted ?? (settings.text('client-secret') === undefined ? 'device-code' : 'authorization-code')
    case 'mutual-tls':
      return undefined
  }
}

async function readSecret({ output }: Context, what: string): Promise<string> {
  if (!process.stdin.isTTY) {
    const text = (await Array.fromAsync(process.stdin.setEncoding('utf8'))).join('').trim()
    if (text === '') throw usageError(`There is no secret on stdin for ${what}.`)
    output.hide(text)
    return text
  }
  const { isCancel, password } = await import('@clack/prompts')
  const secret = await password({ message: `The secret for ${what}` })
  if (isCancel(secret)) throw new Interrupted('The login was interrupted.')
  if (secret === '') throw usageError('There is no secret, so there is no login.')
  output.hide(secret)
  return secret
}

function hideToken({ output }: Context): (token: Token) => void {
  return ({ accessToken, refreshToken }) => {
    output.hide(accessToken)
    output.hide(refreshToken)
  }
}

/** A server on this machine to which the browser returns (RFC 8252 §7.3). */
async function openRedirect({ output, settings, signal }: Context) {
  const callback = Promise.withResolvers<string>()
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/plain; charset=utf-8')
    if (!request.url?.startsWith('/callback?')) return void response.writeHead(404).end('Not found.')
    response.end('You are logged in. You can close this page and return to the terminal.')
    callback.resolve(`${redirectUri}${request.url.slice('/callback'.length)}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  return {
    redirectUri,
    async authorize(url: string) {
      output.note(`Open ${url}`)
      output.note('Waiting until you have agreed. Ctrl-C stops.')
      if (!settings.flag('no-browser') && process.stderr.isTTY) await openBrowser(url)
      return await unlessAborted(callback.promise, signal)
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function openBrowser(url: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url]
  // Without a browser, the user opens the printed address.
  spawn(command ?? '', args, { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
