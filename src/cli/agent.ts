import { readFileSync } from 'node:fs'
import { defined, isList, isObject, type JsonObject } from '../core/base/json.ts'
import { detectLegacyVersions } from '../core/dialects/legacy-versions.ts'
import {
  currentVersion,
  dialectsOfVersion,
  isLegacyVersion,
  type ProtocolVersion,
  protocolVersions,
} from '../core/dialects/versions.ts'
import { createGuardedFetch, type GuardedFetchOptions } from '../core/node/guarded-fetch/guarded-fetch.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { type AgentCard, type Client, type ConnectOptions, connect, type Notice } from '../entries/client.ts'
import { apiKeyCredentials, bearer, type CredentialProvider, certificateCredentials } from '../entries/client-auth.ts'
import { type AgentReference, agentKey, readAgentReference } from './agent-reference.ts'
import { createCardFileCache } from './cards/card-cache.ts'
import type { Context } from './command.ts'
import { usageError } from './errors.ts'
import { quote } from './render.ts'
import { storedCredentials } from './token-store.ts'
import { debugging } from './wire-debug.ts'

type Fetch = NonNullable<ConnectOptions['fetch']>
type DialectName = NonNullable<ConnectOptions['dialects']>[number]
type Transport = NonNullable<ConnectOptions['bindings']>[number]

/** An agent that a command calls. */
export interface AgentConnection {
  readonly client: Client
  /** The card as the agent sent it. */
  readonly wireCard: JsonObject
  /** The reference as the user wrote it, for commands to copy. */
  readonly reference: string
  /** Options of every call: the signal of the command, its service parameters, and no other timeout than its own. */
  readonly call: {
    readonly signal: AbortSignal
    readonly headers: Readonly<Record<string, string>>
    readonly timeout: number
  }
}

export interface OpenOptions {
  /** Further credentials, such as those of a login. */
  readonly providers?: readonly CredentialProvider[]
  readonly onNotice?: (notice: Notice) => void
  /** URIs of extensions that the command understands. They are activated if the card declares them. */
  readonly supports?: readonly string[]
  readonly polling?: ConnectOptions['polling']
  /** Sees every request as it is sent, with its credentials. */
  readonly wrapFetch?: (fetch: Fetch) => Fetch
  /** Called with the card as it was received, before it is read. */
  readonly onCard?: (wire: JsonObject) => void
}

/** The longest time that timers support, in milliseconds: the timeout of the command applies. */
const noTimeout = 2 ** 31 - 1

/** Finds the agent of a command and connects to it. */
export async function openAgent(context: Context, options: OpenOptions = {}): Promise<AgentConnection> {
  const { settings, output, signal } = context
  const reference = requireReference(context)
  const { wrapFetch = (plain: Fetch) => plain } = options
  const fetch = wrapFetch(createFetch(context, readAgentReference(reference)))
  const card: { wire?: JsonObject } = {}
  const dialects = dialectsOf(context)
  const bindings: Transport[] = ['JSONRPC', 'HTTP+JSON']
  const extensions = [...settings.list('extension')]
  const transports = settings.list('transport').map((text) => transportName(text))
  let isConnected = false
  const providers = credentialsOf(context, reference, options.providers ?? []).map((provider) =>
    // Before the card is known, only a challenge says what to send; afterwards, only the card does.
    withAssumption(provider, () => !isConnected),
  )
  const target = await resolveTarget(readAgentReference(reference), fetch, signal)
  const connectOptions: ConnectOptions = {
    fetch,
    dialects,
    bindings,
    signal,
    timeout: noTimeout,
    onNotice: options.onNotice ?? ((notice) => output.note(notice.message)),
    ...(providers.length > 0 ? { auth: providers } : { cardCache: createCardFileCache() }),
    extensions,
    ...defined({ polling: options.polling }),
    async verifyCard(wire) {
      card.wire ??= wire
      options.onCard?.(wire)
      const text = JSON.stringify(wire)
      extensions.push(
        ...(options.supports ?? []).filter((uri) => text.includes(`"${uri}"`) && !extensions.includes(uri)),
      )
      const preferred = preferTransports(wire, transports)
      // gRPC needs much more code than the others.
      if (bindings.length === 2 && prefersGrpc(preferred)) {
        const grpc = await openGrpc(context, reference)
        bindings.push({ ...grpc, fetch: wrapFetch(grpc.fetch) })
      }
      return preferred
    },
  }
  try {
    const client = await connect(target, connectOptions)
    isConnected = true
    for (const line of client.explain().lines.slice(0, -1)) output.detail(line)
    const connection = { client, wireCard: card.wire ?? {}, reference, call: callOptions(context) }
    checkCard(context, client.card)
    return connection
  } catch (error) {
    throw explainVersions(error, card.wire, dialects)
  }
}

/** Fetches the card without choosing an endpoint, so that also cards of unknown versions can be shown. */
export async function fetchCard(context: Context): Promise<{ readonly wire: JsonObject; readonly reference: string }> {
  const reference = requireReference(context)
  const fetch = createFetch(context, readAgentReference(reference))
  const target = await resolveTarget(readAgentReference(reference), fetch, context.signal)
  const providers = credentialsOf(context, reference, [])
  let wire: JsonObject | undefined
  try {
    await connect(target, {
      fetch,
      signal: context.signal,
      timeout: noTimeout,
      ...(providers.length > 0 ? { auth: providers } : { cardCache: createCardFileCache() }),
      verifyCard: (received) => {
        wire = received
      },
    })
  } catch (error) {
    if (wire === undefined) throw error
    context.output.detail(`No call is possible: ${error instanceof Error ? error.message : error}`)
  }
  return { wire: wire ?? {}, reference }
}

export function requireReference({ settings }: Context): string {
  const reference = settings.text('agent-card')
  if (reference !== undefined) return reference
  throw usageError('Which agent? Pass --agent-card <host, URL or file>.', 'Or set A2ACLI_AGENT_CARD.')
}

/** `--svc-param key:value`. */
function callOptions({ settings, signal }: Context): AgentConnection['call'] {
  const headers = settings.list('svc-param').map((text) => {
    const [, name, value] = /^([\w-]+)\s*[:=]\s*(.*)$/s.exec(text) ?? []
    if (name === undefined || value === undefined) {
      throw usageError(`--svc-param: expected key:value, got "${text}".`)
    }
    if (/^(authorization|cookie|proxy-authorization)$/i.test(name)) {
      throw usageError(`--svc-param: ${name} is a credential.`, 'Pass it by --bearer or --api-key.')
    }
    return [name.toLowerCase(), value] as const
  })
  return { signal, headers: Object.fromEntries(headers), timeout: noTimeout }
}

/** Never below 1.0 unless the user has opted in. */
function dialectsOf({ settings }: Context): readonly DialectName[] {
  const version = settings.text('a2a-version')
  if (version !== undefined && version !== 'auto') return dialectsOfVersion[version as ProtocolVersion]
  const takesLegacy = version === 'auto' || settings.flag('legacy')
  const versions = protocolVersions.filter((each) => takesLegacy || !isLegacyVersion(each))
  return versions.flatMap((each) => dialectsOfVersion[each])
}

function explainVersions(error: unknown, wire: JsonObject | undefined, dialects: readonly DialectName[]): unknown {
  if (!(error instanceof A2AError) || error.reason !== 'no-common-interface' || !wire) return error
  const versions = versionsOf(wire)
  const isLegacyOnly = versions.length > 0 && versions.every(isLegacyVersion)
  const mayBeCurrent = dialectsOfVersion[currentVersion].some((name) => dialects.includes(name))
  if (!mayBeCurrent || !isLegacyOnly) {
    return new A2AError(
      'version-not-supported',
      `The agent speaks none of the requested versions: its card names ${versions.join(', ') || 'none'}.`,
      {
        hint: 'See what the agent offers: parley card get.',
      },
    )
  }
  const problem = `The agent speaks A2A ${versions.join(', ')}, and the command line does not go below 1.0 by itself.`
  // A card that fits two versions does not say which one works.
  const isClear = isList(wire.supportedInterfaces) || detectLegacyVersions(wire).alternativeVersion === undefined
  const version = isClear ? versions[0]?.slice(0, 3) : 'auto'
  return new A2AError('version-not-supported', problem, {
    hint: `Run: ${thisCommand()} --a2a-version ${version}. To opt in for all agents: parley config set a2a-version auto.`,
  })
}

/** The command line as the user wrote it. Credentials are removed when it is printed. */
function thisCommand(): string {
  return ['parley', ...process.argv.slice(2).map(quote)].join(' ')
}

function versionsOf(wire: JsonObject): readonly string[] {
  const { supportedInterfaces, protocolVersion } = wire
  if (!isList(supportedInterfaces)) {
    return typeof protocolVersion === 'string' ? [protocolVersion] : detectLegacyVersions(wire).versions.slice(0, 1)
  }
  const versions = supportedInterfaces.flatMap((each) =>
    isObject(each) && typeof each.protocolVersion === 'string' ? [each.protocolVersion] : [],
  )
  return [...new Set(versions)]
}

/** Puts the interfaces of the preferred transports first. The others keep the order of the card. */
function preferTransports(wire: JsonObject, names: readonly string[]): JsonObject {
  const rank = (binding: unknown) => {
    const index = names.indexOf(transportName(`${binding}`, true))
    return index === -1 ? names.length : index
  }
  const { supportedInterfaces, additionalInterfaces, preferredTransport = 'JSONRPC', url } = wire
  if (names.length === 0) return wire
  if (isList(supportedInterfaces)) {
    const bindingOf = (each: unknown) => (isObject(each) ? each.protocolBinding : undefined)
    const sorted = supportedInterfaces.toSorted((one, other) => rank(bindingOf(one)) - rank(bindingOf(other)))
    return { ...wire, supportedInterfaces: sorted as readonly JsonObject[] }
  }
  const others = isList(additionalInterfaces) ? additionalInterfaces.filter(isObject) : []
  const all = [{ url: url ?? '', transport: preferredTransport }, ...others]
  const [first] = all.toSorted((one, other) => rank(one.transport) - rank(other.transport))
  return first?.url && first.transport
    ? { ...wire, url: first.url, preferredTransport: first.transport, additionalInterfaces: all }
    : wire
}

/** Whether the first transport of the card is gRPC. */
function prefersGrpc({ supportedInterfaces, preferredTransport }: JsonObject): boolean {
  const names = isList(supportedInterfaces)
    ? supportedInterfaces.map((each) => (isObject(each) ? each.protocolBinding : undefined))
    : [preferredTransport]
  const known = names.map((name) => transportName(`${name}`, true))
  return known.find((name) => name === 'GRPC' || name === 'JSONRPC' || name === 'HTTP+JSON') === 'GRPC'
}

/** The name of a transport as cards write it. */
export function transportName(text: string, isFromCard = false): string {
  const names: Readonly<Record<string, string>> = {
    JSONRPC: 'JSONRPC',
    REST: 'HTTP+JSON',
    HTTPJSON: 'HTTP+JSON',
    GRPC: 'GRPC',
  }
  const name = names[text.toUpperCase().replace(/[^A-Z]/g, '')]
  if (name !== undefined || isFromCard) return name ?? text
  throw usageError(`--transport: expected JSONRPC, HTTP+JSON or GRPC, got "${text}".`)
}

/** The card that a reference leads to: its URL, its file, or a card inside a catalog. */
export async function resolveTarget(
  reference: AgentReference,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<string | JsonObject> {
  if (reference.type !== 'catalog') return reference.url
  const { readCatalogEntry } = await import('./cards/catalog-reference.ts')
  return await readCatalogEntry(reference.url, reference.entry, fetch, signal)
}

export function createFetch(context: Context, reference: AgentReference): Fetch {
  const { settings, output } = context
  const isFile = reference.type === 'file'
  const hostname = isFile ? undefined : new URL(reference.url).hostname.replace(/^\[|\]$/g, '')
  const isLoopback = isFile || /^(localhost|127\..*|::1)$/.test(hostname ?? '')
  const insecure = insecureBy(context)
  if (insecure !== undefined && !warnedOutputs.has(output)) {
    warnedOutputs.add(output)
    output.warn(`TLS certificates are not verified (${insecure}): anyone on the way can read and change the calls.`)
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  }
  const fetch = createGuardedFetch({
    allow: [...(hostname === undefined ? [] : [hostname]), ...settings.list('allow-host')],
    loopback: isLoopback ? 'allow' : 'refuse',
    tls: tlsOf(context),
    totalTimeout: noTimeout,
    headersTimeout: noTimeout,
  })
  return debugging(
    keepingCredentials(context, reference, (url, init) => fetch(url, init)),
    output,
  )
}

/**
 * Refuses requests that would carry a credential of a variable or a file to another origin than that of the agent, to which
 * only its card points. With an option, the user decides call by call.
 */
function keepingCredentials({ settings }: Context, reference: AgentReference, fetch: Fetch): Fetch {
  const secrets = ['bearer', 'api-key'].flatMap((name) => {
    const setting = settings.setting(name)
    return setting && setting.source.type !== 'flag' ? setting.values : []
  })
  if (reference.type === 'file' || secrets.length === 0) return fetch
  const { origin } = new URL(reference.url)
  const allowed = settings.list('allow-host')
  return async (url, init) => {
    const target = new URL(url)
    const isCarrying = (text: string) =>
      secrets.some((secret) => text.includes(secret) || text.includes(encodeURIComponent(secret)))
    const isOther = target.origin !== origin && !allowed.includes(target.hostname)
    if (isOther && [target.href, ...new Headers(init?.headers).values()].some(isCarrying)) {
      throw new A2AError(
        'unauthenticated',
        `The card of ${origin} names an endpoint at ${target.origin}, and your credential does not go there.`,
        { hint: `If that is right, pass --allow-host ${target.hostname}, or the credential by --bearer or --api-key.` },
      )
    }
    return await fetch(url, init)
  }
}

/** Outputs that have the warning about TLS. Some commands call several servers. */
const warnedOutputs = new WeakSet<Context['output']>()

/** What switches the verification of certificates off. Node would obey its variable without a word. */
function insecureBy({ settings }: Context): string | undefined {
  if (settings.flag('insecure')) return '--insecure'
  return process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0' ? 'NODE_TLS_REJECT_UNAUTHORIZED=0' : undefined
}

/** gRPC, which needs much more code than the other bindings. */
export async function openGrpc(context: Context, reference: string): Promise<Exclude<Transport, string>> {
  const { grpc } = await import('../core/node/grpc-client.ts')
  const parsed = readAgentReference(reference)
  const hostname = parsed.type === 'file' ? undefined : new URL(parsed.url).hostname
  const isLoopback = parsed.type === 'file' || /^(localhost|127\..*|\[::1\])$/.test(hostname ?? '')
  const transport = grpc({
    allow: [
      ...(hostname === undefined ? [] : [hostname.replace(/^\[|\]$/g, '')]),
      ...context.settings.list('allow-host'),
    ],
    loopback: isLoopback ? 'allow' : 'refuse',
    tls: tlsOf(context),
  })
  return { ...transport, fetch: debugging(keepingCredentials(context, parsed, transport.fetch), context.output) }
}

function tlsOf({ settings }: Context): NonNullable<GuardedFetchOptions['tls']> {
  const read = (name: string) => {
    const path = settings.text(name)
    if (path === undefined) return undefined
    try {
      return readFileSync(path)
    } catch {
      throw usageError(`--${name}: the file ${path} cannot be read.`)
    }
  }
  const [cert, key, ca] = [read('cert'), read('key'), read('ca-cert')]
  if ((cert === undefined) !== (key === undefined)) throw usageError('--cert and --key belong together.')
  return defined({ cert, key, ca })
}

/** The credentials that the user has passed or stored. The card decides which of them are sent. */
export function credentialsOf(
  context: Context,
  reference: string,
  more: readonly CredentialProvider[],
): readonly CredentialProvider[] {
  const { settings, output } = context
  const [token, key, cert] = [settings.text('bearer'), settings.text('api-key'), settings.text('cert')]
  for (const { reason, isSurprising } of settings.unused) {
    if (isSurprising) output.warn(reason)
    else output.detail(reason)
  }
  const providers = [
    ...(token === undefined ? [] : [bearer(token)]),
    ...(key === undefined ? [] : [apiKeyCredentials(key)]),
    ...(cert === undefined ? [] : [certificateCredentials()]),
    ...more,
    ...storedCredentials(context, agentKey(reference)),
  ]
  const insecure = insecureBy(context)
  if (providers.length > 0 && insecure !== undefined) {
    output.warn(`Credentials are sent over a connection that is not verified (${insecure}).`)
  }
  return providers
}

function withAssumption(provider: CredentialProvider, mayAssume: () => boolean): CredentialProvider {
  const { assumed } = provider
  if (!assumed) return provider
  return Object.defineProperty({ ...provider }, 'assumed', { get: () => (mayAssume() ? assumed : undefined) })
}

/** Checks what the card requires before the first call. */
function checkCard({ settings, output }: Context, { capabilities, securitySchemes = {}, name }: AgentCard): void {
  const declared = settings.list('extension')
  const missing = (capabilities.extensions ?? []).filter(({ uri, required }) => required && !declared.includes(uri))
  if (missing.length > 0) {
    const uris = missing.map(({ uri }) => uri)
    throw new A2AError('extension-required', `${name} requires the extensions ${uris.join(', ')}.`, {
      hint: `Declare that you support them: ${uris.map((uri) => `--extension ${uri}`).join(' ')}.`,
    })
  }
  const schemes = Object.values(securitySchemes)
  const hasBearer = schemes.some(({ type }) => type === 'oauth2' || type === 'openid' || type === 'http')
  const hasKey = schemes.some(({ type }) => type === 'api-key')
  if (settings.text('bearer') !== undefined && !hasBearer) {
    output.warn('The card declares no scheme for a bearer token, so the token is not sent.')
  }
  if (settings.text('api-key') !== undefined && !hasKey) {
    output.warn('The card declares no scheme for an API key, so the key is not sent.')
  }
}
