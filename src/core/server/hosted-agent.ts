import type { Agent, AgentProfile, ServingContext } from '../agent/agent.ts'
import { redactSecrets } from '../base/error-summary.ts'
import { defined } from '../base/json.ts'
import { consoleLogger, isLogged, type Logger } from '../base/logger.ts'
import { requestIdsOf } from '../base/trace-context.ts'
import { withTenants } from '../dialects/served-card.ts'
import { serverDialects } from '../dialects/server-dialects.ts'
import { createHostCheck } from '../http/host-check.ts'
import { createLimits } from '../limits/limits.ts'
import { A2AError, isAgentError, loggedError, StoreUnavailable } from '../protocol/errors.ts'
import { type Interceptor, intercept } from '../protocol/intercept.ts'
import type { SendRequest, Service } from '../protocol/service.ts'
import { combineTelemetry } from '../protocol/telemetry.ts'
import { createForwarding } from '../runtime/forwarding.ts'
import type { RuntimeOptions } from '../runtime/options.ts'
import { createRuntime, type Runtime } from '../runtime/runtime.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import type { LogWithOperator } from '../tasks/operator-log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { observeCalls } from '../telemetry/observe-service.ts'
import { traceEvents } from '../telemetry/trace-events.ts'
import { type Authentication, createAuthentication } from './authentication.ts'
import { authorizeCalls, createSkillAuthorization, createSkillLookup } from './authorization.ts'
import { type Capabilities, cardOf, interfacesAt } from './card.ts'
import { type CardSigner, createCardSigner } from './card-page.ts'
import type { EndpointBackend } from './http-endpoint.ts'
import { createMetricsPage } from './metrics-page.ts'
import type { HostedAgentOptions } from './options.ts'
import { limitCalls } from './rate-limits.ts'
import { createReadiness } from './readiness.ts'
import { requireTenantMember } from './tenants.ts'

/** A running agent, ready to be served by endpoints. */
export interface HostedAgent extends Runtime, EndpointBackend, Pick<Authentication, 'admit'> {
  readonly options: HostedAgentOptions
  /** `WWW-Authenticate` for callers without credentials. Undefined if no caller needs any. */
  readonly challenge: string | undefined
  readonly service: Service
  /** Without interceptors, for operators who act in the place of a caller. */
  readonly uncheckedService: Service
  readonly log: LogWithOperator
}

export function createHostedAgent(agent: Agent, options: HostedAgentOptions): HostedAgent {
  const { profile } = agent
  const { logger = consoleLogger, log = createMemoryLog(), keys, load, publicUrl, trustProxy, tenant } = options
  const limits = options.limits && createLimits(options.limits, logger)
  const authentication = createAuthentication(options.auth, { profile, logger, load, limits, trustProxy })
  const { auth, settings, delegation, authenticate, admit, rateHeaders, acceptsAnonymous } = authentication
  const { policy } = settings
  if (options.cardAuth && !auth) {
    throw new TypeError('card.auth: the card cannot require credentials, because auth accepts every caller.')
  }
  const signer = keys && createCardSigner({ keys, publicUrl, logger })
  const skillOf = createSkillLookup(authentication, profile)
  const skills = createSkillAuthorization(authentication, profile)
  const gauges = {
    runs: () => runtime.gauges.runs(),
    queued: () => runtime.gauges.queued(),
    webhooks: () => runtime.gauges.webhooks(),
  }
  const metrics = options.metrics ? createMetrics({ gauges, labels: { agent: profile.name } }) : undefined
  const telemetry = combineTelemetry(options.telemetry, metrics?.telemetry)
  const runtimeOptions: RuntimeOptions = {
    ...options,
    telemetry,
    // Callers with credentials have not agreed that operators read what tools get and return.
    trace: options.trace === false ? false : { content: auth === undefined, ...options.trace },
    ...defined({ policy, delegation }),
    ...((skills || limits) && {
      async checkContinuation(firstMessage, request, { principal }) {
        skills?.requireForTask(firstMessage, principal)
        // A message that names a skill was counted when it arrived.
        if (limits && skillOf(request) === undefined) await limits.countSkill(skillOf(firstMessage))
      },
    }),
    ...(limits && {
      async acquireSlot(kind, request, { principal }, firstMessage) {
        await limits.requireBudget(principal)
        return await limits.hold(kind, principal, skillOf(request) ?? (firstMessage && skillOf(firstMessage)))
      },
      chargeUsage: (usage, principal) => limits.charge(principal, usage),
    }),
    logger,
    log,
    agent,
  }
  const { serving } = agent
  const servingContext = createServingContext(authentication)
  const forwarding = serving?.service?.(servingContext)
  const runtime = forwarding ? createForwarding(forwarding, options.clock) : createRuntime(runtimeOptions)
  // The pipeline of every call. The first interceptor is the outermost: it sees a call first and its result last.
  const pipeline = [
    telemetry && observeCalls(telemetry, { side: 'server', agent: profile.name }),
    options.traceMetadata === false
      ? undefined
      : traceEvents({ hasSpans: options.telemetry !== undefined, always: options.traceMetadata === true }),
    // Without credentials, no principal has a tenant.
    auth && tenant !== undefined ? requireTenantMember(tenant, policy) : undefined,
    withoutOperator,
    authorizeCalls(authentication, skills),
    options.capabilities?.streaming === false ? rejectStreams : undefined,
    limits && limitCalls(limits, skillOf),
    ...(serving?.interceptors?.(servingContext) ?? []),
    serveExtendedCard(agent, authentication, signer, options),
  ].filter((interceptor) => interceptor !== undefined)
  let isDraining = false
  return {
    ...runtime,
    service: intercept(runtime.service, pipeline),
    uncheckedService: runtime.service,
    log,
    authenticate,
    admit,
    rateHeaders,
    // On loopback, callers without credentials are accepted because they are on this machine.
    hostCheck: createHostCheck({ hosts: options.isOnLoopback && acceptsAnonymous ? [] : 'any', ...options }),
    metrics:
      metrics &&
      createMetricsPage(
        withMetricsOf(agent, metrics),
        authentication,
        options.metrics === true ? {} : options.metrics || {},
      ),
    options,
    challenge: auth?.challenge,
    signer,
    card: { ...cardOf(profile, capabilitiesOf(agent, options), forwarding !== undefined), ...authentication.card },
    isDraining: () => isDraining,
    isReady: createReadiness(log, logger),
    ...defined({ isOverloaded: load?.isOverloaded }),
    ...createErrorLog(logger, profile.name),
    async drain(deadline, endWithin) {
      isDraining = true
      await runtime.drain(deadline, endWithin)
    },
  }
}

/** Logs failed requests with their cause, and rejected calls with the reason. */
/** Metrics of the server and, for agents that have some, of the agent. */
function withMetricsOf({ serving }: Agent, metrics: Metrics): Metrics {
  return { ...metrics, text: () => `${metrics.text()}${serving?.metrics?.() ?? ''}` }
}

function createErrorLog(logger: Logger, agent: string): Pick<EndpointBackend, 'onError' | 'onRejected'> {
  return {
    onError(error, incoming) {
      const text =
        error instanceof StoreUnavailable
          ? 'a request failed because the task log cannot be used'
          : 'a request failed unexpectedly'
      logger.error({ ...(incoming && requestIdsOf(incoming)), agent, error: loggedError(error) }, text)
    },
    onRejected(error, incoming, operation) {
      const { code, message, metadata } = error
      // The server logs once that it is overloaded, and rejects many calls then.
      if (metadata.reason === 'overload' || !isLogged(logger, 'info')) return
      const reason = isAgentError(error) ? 'the agent rejected the message' : redactSecrets(message)
      logger.info(
        { ...requestIdsOf(incoming), agent, ...defined({ operation: operation || undefined }), code, reason },
        'call rejected',
      )
    },
  }
}

/** Undefined if the agent has no extended card. */
function serveExtendedCard(
  agent: Agent,
  authentication: Authentication,
  signer: CardSigner | undefined,
  options: HostedAgentOptions,
): Interceptor | undefined {
  const { profile, serving } = agent
  const { extendedCard, publicUrl = 'http://localhost' } = options
  if (extendedCard === undefined && !serving?.extendedCard) return undefined
  const dialects = serverDialects(options)
  const context = createServingContext(authentication)
  const cardFor = (extended: Partial<AgentProfile> | undefined) => ({
    ...cardOf({ ...profile, ...extended }, capabilitiesOf(agent, options), serving?.service !== undefined),
    ...authentication.card,
  })
  return {
    async getExtendedCard(_request, call) {
      const { origin = publicUrl } = call
      const withoutInterfaces = cardFor((await serving?.extendedCard?.(call, context)) ?? extendedCard)
      const card = withTenants({ ...withoutInterfaces, interfaces: interfacesAt(origin, dialects, options) })
      return signer ? await signer.signCard(card, origin) : card
    },
  }
}

function capabilitiesOf({ serving }: Agent, { extendedCard, push, capabilities }: HostedAgentOptions): Capabilities {
  const hasExtended = extendedCard !== undefined || serving?.extendedCard !== undefined
  return { ...capabilities, extendedCard: hasExtended, pushNotifications: push !== undefined }
}

function createServingContext({ delegation }: Authentication): ServingContext {
  if (!delegation) return { exchange: undefined }
  return {
    async exchange(principal, audience, signal) {
      const subjectToken = delegation.tokenOf(principal)
      if (subjectToken === undefined) {
        throw new A2AError('unauthenticated', 'The agent behind this address needs a token of the caller: send one.')
      }
      return await delegation.exchange({ subjectToken, audience, scopes: [], signal })
    },
  }
}

/** `metadata.operator` names the operator who answered in the place of a caller. Callers cannot set it. */
const withoutOperator: Interceptor = {
  sendMessage: (request, call, next) => next(removeOperator(request), call),
  streamMessage: (request, call, next) => next(removeOperator(request), call),
}

function removeOperator(request: SendRequest): SendRequest {
  const { message } = request
  if (message.metadata?.operator === undefined) return request
  const { operator: _, ...metadata } = message.metadata
  return { ...request, message: { ...message, metadata } }
}

/** Rejects streams and subscriptions. */
const rejectStreams: Interceptor = {
  // biome-ignore lint/correctness/useYield: the stream fails before its first event
  async *stream() {
    const text = 'This agent does not stream: send the message without streaming, and get the task until it ends.'
    throw new A2AError('streaming-not-supported', text)
  },
}
