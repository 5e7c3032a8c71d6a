import type { Agent, AgentProfile } from '../agent/agent.ts'
import { consoleLogger } from '../base/logger.ts'
import { requestIdsOf } from '../base/trace-context.ts'
import { serverDialects } from '../dialects/server-dialects.ts'
import type { Load } from '../http/load.ts'
import { createLimits, type LimitOptions, requireAllowed } from '../limits/limits.ts'
import type { Principal } from '../protocol/model.ts'
import type { Service } from '../protocol/service.ts'
import { combineTelemetry } from '../protocol/telemetry.ts'
import type { RuntimeOptions } from '../runtime/options.ts'
import { createRuntime, type Runtime } from '../runtime/runtime.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { observed } from '../telemetry/observe-service.ts'
import { overloaded } from '../transports/server/read-body.ts'
import { type AuthChoice, type Authentication, createAuthentication } from './authentication.ts'
import { authorizeService, createSkillGuard, skillNamer } from './authorization.ts'
import { type AddressOptions, cardOf, interfacesAt } from './card.ts'
import { type CardSigner, createCardSigner } from './card-page.ts'
import type { EndpointBackend, HttpEndpointOptions } from './http-endpoint.ts'
import { createMetricsPage, type MetricsOptions } from './metrics-page.ts'
import { type Counts, countRequests, limitService, refuseWhenOverloaded } from './rate-limits.ts'
import { requireTenantMember } from './tenants.ts'

export interface HandlerOptions
  extends Partial<Omit<RuntimeOptions, 'agent' | 'policy' | 'acquireSlot' | 'checkContinuation' | 'delegation'>>,
    HttpEndpointOptions {
  /** Who may call. It must be said here: where a handler is mounted, nobody knows who can reach it. */
  readonly auth: AuthChoice
  /** How much callers may use. */
  readonly limits?: LimitOptions
  /** What the server is doing: while that is too much, calls are refused. `serve` brings its own. */
  readonly load?: Load | undefined
  /** Counts what is done, and tells it at `/metrics`, in the form of Prometheus. */
  readonly metrics?: boolean | MetricsOptions
  /** What the extended card says beyond the public one. Without it there is none. */
  readonly extendedCard?: Partial<AgentProfile>
}

export interface ResidentOptions extends HandlerOptions, AddressOptions {}

/** An agent at work, ready to be given a face. */
export interface HostedAgent extends Runtime, EndpointBackend {
  readonly options: ResidentOptions
  /** What callers are asked for, as `WWW-Authenticate`, if for anything. */
  readonly challenge: string | undefined
  /** For wires that find out by themselves who is calling: throws if that one must not be served now. */
  admit(principal: Principal): Promise<void>
}

export function createHostedAgent(agent: Agent, options: ResidentOptions): HostedAgent {
  const { logger = consoleLogger, log = createMemoryLog() } = options
  const { profile } = agent
  const admission = createAuthentication(options.auth, { profile, logger })
  const { policy } = admission.settings
  const { keys, publicUrl } = options
  const signer = keys && createCardSigner({ keys, publicUrl, logger })
  const meant = skillNamer(admission, profile)
  const skillGuard = createSkillGuard(admission, profile)
  const limits = options.limits && createLimits(options.limits, logger)
  const counts: Counts = new WeakMap()
  const { principalOf } = admission
  const counting = limits ? countRequests(principalOf, limits, counts) : principalOf
  const standing = {
    runs: () => runtime.gauges.runs(),
    queued: () => runtime.gauges.queued(),
    webhooks: () => runtime.gauges.webhooks(),
  }
  const metrics = options.metrics ? createMetrics({ standing, labels: { agent: profile.name } }) : undefined
  const telemetry = combineTelemetry(options.telemetry, metrics?.telemetry)
  const runtime: Runtime = createRuntime({
    ...options,
    telemetry,
    ...(policy && { policy }),
    ...(admission.delegation && { delegation: admission.delegation }),
    ...((skillGuard || limits) && {
      async checkContinuation(opening, request, { principal }) {
        skillGuard?.requireOpening(opening, principal)
        // One that names a skill itself was counted when it came.
        if (limits && meant(request) === undefined) await limits.countSkill(meant(opening))
      },
    }),
    ...(limits && {
      acquireSlot: (kind, request, { principal }, opening) =>
        limits.hold(kind, principal, meant(request) ?? (opening && meant(opening))),
    }),
    logger,
    log,
    agent,
  })
  const service = withExtendedCard(runtime.service, admission, agent, { ...options, signer })
  const allowed = authorizeService(limits ? limitService(service, limits, meant) : service, admission, skillGuard)
  const { tenant } = options
  // Where nobody needs credentials, nobody is of a tenant.
  const bound = admission.auth && tenant !== undefined ? requireTenantMember(allowed, tenant, policy) : allowed
  let isDraining = false
  return {
    ...runtime,
    recall: runtime.lastDialect,
    service: telemetry ? observed(bound, telemetry, { side: 'server', agent: profile.name }) : bound,
    principalOf: options.load ? refuseWhenOverloaded(counting, options.load) : counting,
    ...(limits && { counts }),
    metrics: metrics && createMetricsPage(metrics, admission, options.metrics === true ? {} : options.metrics || {}),
    options,
    challenge: admission.auth?.challenge,
    async admit(principal) {
      if (options.load?.isOver()) throw overloaded()
      if (limits) requireAllowed(await limits.count(principal))
    },
    signer,
    card: { ...cardOf(profile, capabilitiesOf(options)), ...admission.card },
    isDraining: () => isDraining,
    ...(options.load && { isOverloaded: options.load.isOver }),
    onError: (error, incoming) =>
      logger.error({ ...(incoming && requestIdsOf(incoming)), error }, 'a request failed unexpectedly'),
    async drain(deadline) {
      isDraining = true
      await runtime.drain(deadline)
    },
  }
}

function withExtendedCard(
  service: Service,
  admission: Authentication,
  { profile }: Agent,
  options: ResidentOptions & { readonly signer: CardSigner | undefined },
): Service {
  const { extendedCard, publicUrl = 'http://localhost', signer } = options
  if (extendedCard === undefined) return service
  const card = { ...cardOf({ ...profile, ...extendedCard }, capabilitiesOf(options)), ...admission.card }
  const dialects = serverDialects(options)
  return {
    ...service,
    async getExtendedCard(_request, { origin = publicUrl }) {
      const told = { ...card, interfaces: interfacesAt(origin, dialects, options) }
      return signer ? await signer.signCard(told, origin) : told
    },
  }
}

function capabilitiesOf({ extendedCard, push }: ResidentOptions) {
  return { extendedCard: extendedCard !== undefined, pushNotifications: push !== undefined }
}
