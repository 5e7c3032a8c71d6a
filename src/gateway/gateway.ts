import { join } from 'node:path'
import type { Agent } from '../core/agent/agent.ts'
import { withTimeout } from '../core/base/abort.ts'
import { defined, isObject, sameJson } from '../core/base/json.ts'
import { checkOptions, type OptionChecks } from '../core/base/options.ts'
import type { Exchange, Outgoing } from '../core/http/exchange.ts'
import { isLoopback } from '../core/http/origin.ts'
import { createMemoryLimits } from '../core/limits/limit-store.ts'
import { toLimitOptions } from '../core/limits/limits.ts'
import { createPushFetch } from '../core/node/guarded-fetch/push-fetch.ts'
import { createLogger } from '../core/node/logger.ts'
import { A2AError, loggedError } from '../core/protocol/errors.ts'
import type { Interceptor } from '../core/protocol/intercept.ts'
import type { Principal } from '../core/protocol/model.ts'
import type { PushFetch } from '../core/push/options.ts'
import type { AuthChoice } from '../core/server/authentication.ts'
import type { HostedAgent } from '../core/server/hosted-agent.ts'
import type { TaskLog } from '../core/tasks/log.ts'
import type { OwnershipStore } from '../core/tasks/ownership.ts'
import { type AddOptions, type ServeOptions, type ServePushOptions, serveChecks } from '../serve/options.ts'
import { startServer } from '../serve/serve.ts'
import { createSqliteOwnership } from '../stores/sqlite/ownership-store.ts'
import type { AddressState } from './addresses.ts'
import { type Content, createContent } from './content.ts'
import { createSource, type Source } from './discovery.ts'
import { durableAgent } from './durable.ts'
import type { GatewayContext } from './gateway-context.ts'
import type { Loss } from './losses.ts'
import { createMcpUpstream, type LocalUpstream } from './mcp-upstream.ts'
import { type GatewayOptions, gatewayChecks, type NamedUpstream, readAgents, type UpstreamOptions } from './options.ts'
import { forwardAudience } from './outgoing.ts'
import { passThroughAgent } from './pass-through.ts'
import { createPushRelay, pushPath } from './push-relay.ts'
import {
  applyRules,
  createRules,
  type Decision,
  type LoggedCall,
  operationNames,
  type RuledCall,
  unknownAgents,
} from './rules.ts'
import { createTraffic, type Traffic, type TrafficFigures } from './traffic.ts'
import { createUpstream, type Upstream } from './upstream.ts'

/** Where the gateway lists its agents (AI Catalog). */
const catalogPath = '/.well-known/ai-catalog.json'

/** Milliseconds that streams of a replaced agent may go on before they end, so that their readers resume at the new one. */
const replacementDrain = 60 * 60_000

/** Milliseconds that the start waits for cards of agents. */
const startPatience = 2_000

/** Milliseconds after which an address whose check failed is checked again. */
const recheckAfter = 5_000

const day = 24 * 60 * 60 * 1000

/** A running gateway. */
export interface Gateway {
  readonly url: string
  readonly port: number
  /** The address of the console. Undefined if the gateway has none. */
  readonly consoleUrl: string | undefined
  /** The agents, with what the gateway knows of them. */
  agents(): readonly GatewayAgent[]
  /** Says which rule decides about a call. */
  explain(call: RuledCall): Decision
  /**
   * Takes new agents, rules and cards options without closing a connection: agents whose options are unchanged stay, and
   * open streams of others end by themselves. Rejects, and changes nothing, if the options are wrong.
   */
  update(options: Pick<GatewayOptions, 'agents' | 'from' | 'rules'>): Promise<void>
  /** Fetches all catalogs and cards again, now. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** An agent of a gateway, for operators. */
export interface GatewayAgent {
  readonly name: string
  /** `local`: an agent of this process, or an MCP server. */
  readonly mode: 'durable' | 'pass-through' | 'local'
  readonly url: string
  readonly state: 'ready' | 'unreachable'
  /** The catalog or registry that lists the agent. Undefined for a configured one. */
  readonly source: string | undefined
  /** Why the card could not be fetched. */
  readonly failure: string | undefined
  readonly signature: string | undefined
  readonly endpoint: { readonly url: string; readonly binding: string; readonly dialect: string } | undefined
  /** The addresses of the agent, with their health and open calls in this process. */
  readonly addresses: readonly AddressState[]
  /** What translations between the versions of callers and the agent lost so far, in this process. */
  readonly losses: readonly Loss[]
  /** How often each pattern of `content.redact` was replaced, in this process. */
  readonly redactions: Readonly<Record<string, number>>
  /** Calls of callers and to the agent, in this process. */
  readonly traffic: TrafficFigures
}

/** A call that a rule refused, for operators. */
interface Refusal extends Pick<LoggedCall, 'agent' | 'principal' | 'operation' | 'rule'> {
  readonly at: number
  readonly code: string
}

interface ServedUpstream {
  readonly named: NamedUpstream
  readonly upstream: Upstream | undefined
  /** Instead of an upstream: an agent of this process. */
  readonly local: LocalUpstream | undefined
  readonly content: Content | undefined
  hosted: HostedAgent | undefined
  log: TaskLog | undefined
}

const checks: OptionChecks<GatewayOptions> = { ...serveChecks, ...gatewayChecks } as OptionChecks<GatewayOptions>

/**
 * Serves agents of any A2A version and binding behind one address: in every version and binding, with task logs, callers,
 * rules and cards of its own.
 *
 * @example
 * const gateway = await createGateway({ agents: { old: 'https://old-agent.example' }, port: 4000 })
 * console.log(gateway.url)
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  checkOptions('createGateway', options, checks)
  const { agents, rules, from = [], content: _, cards = {}, name, databaseUrl, ownership: given, ...rest } = options
  const { keepRecords = 30 * day, ...serving } = rest
  let configured = readAgents(options)
  const logger = options.logger ?? createLogger()
  warnOfRules(options)
  const ownership = given ?? (await openOwnership(options))
  const via = name ?? `parley-${crypto.randomUUID().slice(0, 8)}`
  const limits = (options.limits && toLimitOptions(options.limits).store) ?? createMemoryLimits()
  let current = createRules(rules)
  let sources = from.map((each) => createSource(each, logger))
  const upstreams = new Map<string, Upstream>()
  const traffic = new Map<string, Traffic>()
  let refusals: readonly Refusal[] = []
  const pushFetch = options.push && pushFetchOf(options.push)
  const context: GatewayContext = {
    ownership,
    logger,
    via,
    pushFetch,
    includesOrigin: cards.origin === 'include',
    pushUrl: options.push && (() => `${(options.publicUrl ?? server.url).replace(/\/+$/, '')}${pushPath}`),
    interceptorsFor(agent) {
      const { losses, content } = upstreams.get(agent) ?? {}
      const decide = applyRules({ agent, rules: () => current, limits, logger, onCall })
      return [decide, losses?.interceptor, content?.messages].filter((each) => each !== undefined)
    },
  }
  const receiveNotification = createPushRelay(upstreams, context)

  const around = (exchange: Exchange): Exchange => {
    return (incoming) => {
      if (isOwnRequest(incoming.header('via'), via)) return Promise.resolve(loopDetected)
      if (incoming.path.startsWith(pushPath)) return receiveNotification(incoming)
      if (incoming.path === catalogPath && incoming.method === 'GET') return catalogPage(incoming)
      return exchange(incoming)
    }
  }
  const auth = authOf(options)
  const serveOptions: ServeOptions = { ...serving, logger, grpc: options.grpc ?? true, ...defined({ auth }) }
  const gateway = () => ({
    agents: agentsNow(),
    sources: sources.map((source) => ({ url: source.url, agents: source.agents().length, failure: source.failure() })),
    refusals,
  })
  const server = await startServer({}, serveOptions, { databaseUrl, around, gateway }).catch(async (error) => {
    await ownership.close()
    throw error
  })
  const report = (error: unknown) => logger.error({ error: loggedError(error) }, 'the gateway could not refresh itself')
  let served: readonly ServedUpstream[] = []
  let reconciling: Promise<void> = Promise.resolve()
  let sourceTimers: readonly NodeJS.Timeout[] = []
  const closing = new AbortController()

  function onCall(call: LoggedCall): void {
    trafficOf(call.agent).onCall(call)
    const { isRefused, agent, principal, operation, rule, code = '' } = call
    if (isRefused) refusals = [{ at: Date.now(), agent, principal, operation, rule, code }, ...refusals].slice(0, 100)
  }

  /** Counts the calls of an agent, also after its options have changed. */
  function trafficOf(agent: string): Traffic {
    const counted = traffic.get(agent) ?? createTraffic(agent)
    traffic.set(agent, counted)
    return counted
  }

  function observers(agent: string) {
    return { traffic: trafficOf(agent), telemetry: options.telemetry }
  }

  function warnOfRules({ agents: known, from: others = [], rules: checked }: Parameters<Gateway['update']>[0]): void {
    // Rules may name agents that a catalog lists later.
    if (others.length > 0) return
    for (const problem of unknownAgents(checked, Object.keys(known))) logger.warn({ problem }, 'a rule matches no call')
  }

  function agentsNow(): readonly GatewayAgent[] {
    return served.map(({ named: { name: agent, options: of, source }, upstream, local, content, hosted }) => ({
      name: agent,
      mode: upstream ? (of.mode ?? 'durable') : 'local',
      url: urlOf(hosted),
      state: hosted ? 'ready' : 'unreachable',
      source,
      failure: (upstream ?? local)?.failure(),
      signature: upstream?.origin()?.signature.result,
      endpoint: upstream?.endpoint(),
      addresses: upstream?.addresses() ?? [],
      losses: upstream?.losses.list() ?? [],
      redactions: content?.counts() ?? {},
      traffic: trafficOf(agent).figures(),
    }))
  }

  /** The agents that the caller may call. */
  async function catalogPage(incoming: Parameters<Exchange>[0]): Promise<Outgoing> {
    const entries = await Promise.all(
      served.map(async ({ named: { name: agent }, hosted }) => {
        if (!hosted) return []
        const principal = await identify(hosted, incoming)
        if (!principal || !isListed(current.decide({ principal, agent, operation: 'sendMessage' }))) return []
        const { name: displayName, description } = hosted.card
        const url = `${urlOf(hosted)}/.well-known/agent-card.json`
        return [
          {
            identifier: `urn:a2a:${agent}`,
            displayName,
            description,
            mediaType: 'application/a2a-agent-card+json',
            url,
          },
        ]
      }),
    )
    const body = JSON.stringify({ specVersion: '1.0', entries: entries.flat() })
    return { status: 200, headers: { 'content-type': 'application/json', 'cache-control': 'private, no-store' }, body }
  }

  function urlOf(hosted: HostedAgent | undefined): string {
    const mount = server.mounted().find(({ agent }) => agent === hosted)
    return `${(options.publicUrl ?? server.url).replace(/\/+$/, '')}${mount?.path ?? ''}`
  }

  /** Mounts the agent as its card describes it now. A former one takes no new calls, and its streams go on. */
  async function mount(entry: ServedUpstream): Promise<void> {
    const { named: each, upstream } = entry
    const { options: of, path } = each
    const mountOptions: AddOptions = defined({
      mount: path,
      hostname: of.hostname,
      tenant: of.tenant,
      inputModes: 'unchecked',
      outputModes: 'unchecked',
    })
    const origin = upstream?.origin()
    const localAgent = entry.local?.agent()
    if (!origin && !localAgent) return
    const isDurable = (of.mode ?? 'durable') === 'durable' && upstream !== undefined
    const isNew = entry.hosted === undefined
    if (isNew && (isDurable || localAgent)) {
      // The log belongs to the name in the configuration: the agent may rename itself.
      const owner = { profile: { name: each.name } } as Agent
      entry.log ??= await server.openLog(owner, mountOptions)
    }
    const agent = localAgent
      ? { ...localAgent, serving: { ...localAgent.serving, interceptors: () => interceptorsOf(entry) } }
      : upstream && origin
        ? isDurable && entry.log
          ? durableAgent(origin, upstream, each, { ...context, log: withoutReservation(entry.log) })
          : passThroughAgent(origin, upstream, each, context)
        : undefined
    if (!agent) return
    const counted = { ...agent, serving: { ...agent.serving, metrics: trafficOf(each.name).metrics } }
    const former = entry.hosted
    if (former) void server.remove(former, replacementDrain)
    const durable: AddOptions = {
      turns: { taskAfter: Number.POSITIVE_INFINITY, dedupeNewTasks: true, ...options.turns },
    }
    const log = entry.log && withoutReservation(entry.log)
    entry.hosted = server.addWithLog(
      counted,
      { ...mountOptions, ...(isDurable && durable), ...defined({ log }) },
      undefined,
    )
  }

  function interceptorsOf({ named: { name: agent }, content }: ServedUpstream): readonly Interceptor[] {
    return [...context.interceptorsFor(agent), ...(content ? [content.messages] : [])]
  }

  async function open(each: NamedUpstream): Promise<ServedUpstream> {
    const { name: agent, options: of, isForeign = false } = each
    const contentRules = of.agent ? undefined : (of.content ?? options.content)
    const content = contentRules && createContent(agent, contentRules)
    const local = of.agent ? sameAgent(of.agent) : of.mcp && createMcpUpstream(each, of.mcp, { logger, content })
    const upstream = local
      ? undefined
      : createUpstream(agent, of, { logger, ownership, content, isForeign, ...observers(agent) })
    const entry: ServedUpstream = { named: each, upstream, local, content, hosted: undefined, log: undefined }
    if (upstream) upstreams.set(agent, upstream)
    // An agent that does not answer keeps the others from starting for a moment only.
    const refreshed = (local ?? upstream)?.refresh(closing.signal) ?? Promise.resolve(false)
    const isDone = await withTimeout(refreshed, startPatience, () => new Error('late')).catch(() => false)
    if (isDone || upstream?.origin()) await mount(entry)
    else void refreshed.then((isFound) => (isFound ? mountLater(entry) : undefined)).catch(report)
    return entry
  }

  async function closeEntry({ hosted, upstream, local, log, named: { name: agent } }: ServedUpstream): Promise<void> {
    if (hosted) await server.remove(hosted, replacementDrain)
    if (upstreams.get(agent) === upstream) upstreams.delete(agent)
    upstream?.close()
    local?.close()
    await log?.close()
  }

  /** Each agent by itself: one that does not answer delays no other. */
  async function refreshAll(isDue: (upstream: Upstream | LocalUpstream) => boolean = () => true): Promise<void> {
    await Promise.all(
      served.map(async (entry) => {
        const each = entry.upstream ?? entry.local
        if (each && isDue(each) && (await each.refresh(closing.signal))) await mountLater(entry)
      }),
    )
  }

  /** Mounts what is configured and listed now. One at a time: a catalog may change while the configuration does. */
  function reconcile(): Promise<void> {
    const next = reconciling.then(async () => {
      if (closing.signal.aborted) return
      const wanted = withListed(configured, sources)
      const kept = served.filter((entry) => wanted.some((each) => isSameUpstream(each, entry.named)))
      const dropped = served.filter((entry) => !kept.includes(entry))
      const added = wanted.filter((each) => !kept.some((entry) => isSameUpstream(each, entry.named)))
      // An address is free before another agent gets it.
      const removed = dropped.map(closeEntry)
      served = [...kept, ...(await Promise.all(added.map(open)))]
      for (const agent of traffic.keys()) if (!served.some(({ named }) => named.name === agent)) traffic.delete(agent)
      if (added.length + dropped.length > 0) {
        const counts = { kept: kept.length, added: added.length, removed: dropped.length }
        logger.info(counts, 'gateway configuration changed')
      }
      void Promise.all(removed).catch(report)
    })
    reconciling = next.catch(() => {})
    return next
  }

  async function refreshSources(due: readonly Source[]): Promise<void> {
    const changes = await Promise.all(due.map((source) => source.refresh()))
    if (changes.includes(true)) await reconcile()
  }

  function watchSources(): void {
    for (const timer of sourceTimers) clearInterval(timer)
    sourceTimers = sources.map((source) => {
      const { refresh = 60_000 } = source.options
      return setInterval(() => void refreshSources([source]).catch(report), refresh).unref()
    })
  }

  async function mountLater(entry: ServedUpstream): Promise<void> {
    if (!closing.signal.aborted && served.includes(entry)) await mount(entry)
  }

  async function sweep(): Promise<void> {
    while ((await ownership.expire(Date.now() - keepRecords, 1_000)) === 1_000);
  }

  const listed = Promise.all(sources.map((source) => source.refresh()))
  await withTimeout(listed, startPatience, () => new Error('late')).catch(() => {})
  // What it lists later is mounted then.
  void listed.then(() => reconcile()).catch(report)
  await reconcile()
  watchSources()
  const timers = [
    setInterval(() => void refreshAll().catch(report), cards.refresh ?? 60_000).unref(),
    // Addresses that failed are checked more often.
    setInterval(() => void refreshAll((each) => each.failure() !== undefined).catch(report), recheckAfter).unref(),
    setInterval(() => void sweep().catch(report), 60 * 60_000).unref(),
  ]

  return {
    url: server.url,
    port: server.port,
    consoleUrl: server.consoleUrl,
    agents: agentsNow,
    explain: (call) => current.decide(call),
    async update(next) {
      const { agents: agentsCheck, from: fromCheck, rules: ruleCheck } = gatewayChecks
      checkOptions('createGateway', next, { agents: agentsCheck, from: fromCheck, rules: ruleCheck })
      const wanted = readAgents(next)
      warnOfRules(next)
      const former = sources
      const wantedSources = (next.from ?? []).map(
        (each) => former.find((source) => sameJson(source.options, each)) ?? createSource(each, logger),
      )
      await Promise.all(wantedSources.filter((each) => !former.includes(each)).map((source) => source.refresh()))
      configured = wanted
      sources = wantedSources
      current = createRules(next.rules)
      for (const source of former) if (!sources.includes(source)) source.close()
      watchSources()
      await reconcile()
    },
    async refresh() {
      await refreshSources(sources)
      await refreshAll()
    },
    async close() {
      closing.abort('closing')
      for (const timer of [...timers, ...sourceTimers]) clearInterval(timer)
      await server.close()
      for (const source of sources) source.close()
      for (const { upstream, local, log } of served) {
        upstream?.close()
        local?.close()
        await log?.close()
      }
      if (!given) await ownership.close()
    },
  }
}

/** Says which rule of a configuration decides about a call, without starting the gateway. */
export function explainRule(options: Pick<GatewayOptions, 'agents' | 'from' | 'rules'>, call: RuledCall): Decision {
  const { agents: agentsCheck, from: fromCheck, rules: ruleCheck } = gatewayChecks
  checkOptions('explainRule', options, { agents: agentsCheck, from: fromCheck, rules: ruleCheck })
  const { agents, from = [], rules } = options
  if (from.length === 0 && !Object.hasOwn(agents, call.agent)) {
    throw new TypeError(`There is no agent ${call.agent}: expected one of ${Object.keys(agents).join(', ')}.`)
  }
  if (!operationNames.includes(call.operation)) {
    throw new TypeError(`There is no operation ${call.operation}: expected one of ${operationNames.join(', ')}.`)
  }
  return createRules(rules).decide(call)
}

/** Records of pass-through agents, and the ids of durable ones. */
async function openOwnership({ databaseUrl, directory = '.parley' }: GatewayOptions): Promise<OwnershipStore> {
  if (databaseUrl === undefined) return createSqliteOwnership({ file: join(directory, 'gateway.db') })
  const [{ openPool }, { createPostgresOwnership }] = await Promise.all([
    import('../stores/postgres/connection.ts'),
    import('../stores/postgres/ownership-store.ts'),
  ])
  const pool = await openPool(databaseUrl)
  const store = await createPostgresOwnership({ pool })
  return {
    ...store,
    async close() {
      await store.close()
      await pool.end()
    },
  }
}

/** Webhooks of callers are called as those of `serve` are. */
function pushFetchOf({
  fetch,
  schemes,
  allow,
  loopback,
  redirects,
  tls,
  resolve,
  timeout,
}: ServePushOptions): PushFetch {
  return fetch ?? createPushFetch(defined({ schemes, allow, loopback, redirects, tls, resolve, timeout }))
}

/** Tokens of callers are kept for agents that are called in their name. */
function authOf({ auth, agents, from = [], host = '127.0.0.1' }: GatewayOptions): AuthChoice | undefined {
  const given = Object.values(agents).filter(isObject) as readonly Pick<UpstreamOptions, 'identity'>[]
  const all = [...given, ...from.map((source) => source.options ?? {})]
  const needsTokens = all.some(({ identity }) => identity !== undefined)
  if (!needsTokens) return auth ?? (isLoopback(host) ? { anonymous: { listAll: true } } : undefined)
  if (auth === undefined || auth === 'none' || !auth.schemes) {
    throw new TypeError(
      'createGateway: identity: an agent is called in the name of callers, so auth needs schemes that take tokens.',
    )
  }
  const { exchange } = auth
  return {
    ...auth,
    async exchange(request) {
      if (request.audience === forwardAudience) return request.subjectToken
      if (exchange) return await exchange(request)
      throw new A2AError(
        'unavailable',
        'This gateway has no token exchange: its operator has to configure auth.exchange.',
      )
    },
  }
}

/** The log is opened for the name in the configuration, while the profile has the name on the agent's card. */
function withoutReservation(log: TaskLog): TaskLog {
  const { reserveFor: _, ...rest } = log
  return rest
}

/** The caller, if its credentials are valid. */
async function identify(hosted: HostedAgent, incoming: Parameters<Exchange>[0]): Promise<Principal | undefined> {
  try {
    return await hosted.authenticate(incoming)
  } catch (error) {
    if (error instanceof A2AError) return undefined
    throw error
  }
}

/** An agent without a card that the caller may not call at all is not listed; one that needs a skill is. */
function isListed({ isAllowed, rule }: Decision): boolean {
  return isAllowed || (rule?.skill !== undefined && rule.effect !== 'deny')
}

/** Configured agents, and those of catalogs whose names and paths are free: a catalog cannot take the name of another agent. */
function withListed(configured: readonly NamedUpstream[], sources: readonly Source[]): readonly NamedUpstream[] {
  const all = [...configured]
  for (const each of sources.flatMap((source) => source.agents())) {
    if (!all.some(({ name, path }) => name === each.name || path === each.path)) all.push(each)
  }
  return all
}

/** An agent of the options: always the same one. */
function sameAgent(agent: Agent): LocalUpstream {
  let isNew = true
  return {
    agent: () => agent,
    async refresh() {
      const wasNew = isNew
      isNew = false
      return wasNew
    },
    failure: () => undefined,
    close() {},
  }
}

function isSameUpstream(one: NamedUpstream, other: NamedUpstream): boolean {
  return one.name === other.name && one.path === other.path && sameJson(one.options, other.options)
}

/** Whether the request has passed this gateway before. */
function isOwnRequest(header: string | undefined, via: string): boolean {
  return header?.split(',').some((entry) => entry.trim().split(/\s+/)[1] === via) ?? false
}

const loopDetected: Outgoing = {
  status: 508,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    error: {
      code: 508,
      status: 'LOOP_DETECTED',
      message: 'This request has passed this gateway before: an agent behind it calls it again.',
    },
  }),
}
