import type { Agent, AgentServing, ServingContext } from '../core/agent/agent.ts'
import { type Interceptor, intercept, type UnaryNext } from '../core/protocol/intercept.ts'
import type { Call, RequestOf, ResultOf, SendRequest, Service, UnaryOperation } from '../core/protocol/service.ts'
import { isolateOwners } from '../core/tasks/ownership.ts'
import { profileOf, profileOfCard } from './card.ts'
import type { GatewayContext } from './gateway-context.ts'
import type { NamedUpstream } from './options.ts'
import { createForwarder, toCallerError } from './outgoing.ts'
import { relayPush } from './push-relay.ts'
import type { OriginCard, Upstream } from './upstream.ts'

/** An agent whose operations go to the upstream. The gateway stores only who owns its tasks. */
export function passThroughAgent(
  origin: OriginCard,
  upstream: Upstream,
  named: NamedUpstream,
  context: GatewayContext,
): Agent {
  const { options, name } = named
  const serving: AgentServing = {
    service(servingContext) {
      const forwarding = intercept(upstream.service, [forwardCalls(named, servingContext, context)])
      const relayed = context.pushUrl ? relayPush(forwarding, name, context) : forwarding
      return isolateOwners(relayed, {
        store: context.ownership,
        agent: name,
        listsByCaller: options.identity !== undefined && options.urls === undefined,
      })
    },
    interceptors: () => context.interceptorsFor(name),
    ...(origin.card.capabilities.extendedCard && {
      extendedCard: (call, servingContext) =>
        extendedProfile(upstream.service, call, named, servingContext, context.via),
    }),
  }
  return {
    profile: profileOf(origin, context.includesOrigin),
    run() {
      throw new Error('A pass-through agent has no turns.')
    },
    serving,
  }
}

/** What the extended card of the agent says to this caller, for the gateway's own. */
export async function extendedProfile(
  service: Service,
  call: Call,
  { name, options }: NamedUpstream,
  servingContext: ServingContext,
  via: string,
) {
  try {
    const outgoing = createForwarder(options, servingContext, via)
    return profileOfCard(await service.getExtendedCard({}, await outgoing(call)))
  } catch (error) {
    throw toCallerError(error, name, options)
  }
}

/** Turns calls of callers into calls of the gateway, and errors of the agent into errors for callers. */
function forwardCalls(
  { name, options }: NamedUpstream,
  servingContext: ServingContext,
  { via }: GatewayContext,
): Interceptor {
  const outgoing = createForwarder(options, servingContext, via)
  return {
    async unary<O extends UnaryOperation>(
      _operation: O,
      request: RequestOf<O>,
      call: Call,
      next: UnaryNext<O>,
    ): Promise<ResultOf<O>> {
      try {
        const result = await next(forwarded(request), await outgoing(call))
        activate(call)
        return result
      } catch (error) {
        throw toCallerError(error, name, options)
      }
    },
    async *stream(_operation, request, call, next) {
      try {
        const opened = next(forwarded(request), await outgoing(call))
        activate(call)
        yield* opened
      } catch (error) {
        throw toCallerError(error, name, options)
      }
    },
  }
}

/** The tenant of a request is one of the gateway. The client adds that of the agent, if its card names one. */
function forwarded<R extends object>(request: R): R {
  const { tenant: _, ...rest } = request as R & Pick<SendRequest, 'tenant'>
  return rest as R
}

/** The extensions that the caller requests are requested from the agent, so they are active as far as it has them. */
function activate({ extensions = [], activated }: Call): void {
  for (const uri of extensions) activated?.add(uri)
}
