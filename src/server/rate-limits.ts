import type { Exchange, Incoming } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import { type Counted, type Limits, requireAllowed } from '../limits/limits.ts'
import type { SendRequest, Service } from '../protocol/service.ts'
import type { WireOptions } from '../transports/server/options.ts'
import { overloaded } from '../transports/server/read-body.ts'

/** What was counted for a request, for the headers of its answer. */
export type Counts = WeakMap<Incoming, readonly Counted[]>

/** Whoever is known is counted, before anything of the call is read. */
export function countRequests(principalOf: PrincipalOf, limits: Limits, counts: Counts): PrincipalOf {
  return async (incoming) => {
    const principal = await principalOf(incoming)
    const counted = await limits.count(principal)
    counts.set(incoming, counted)
    requireAllowed(counted)
    return principal
  }
}

/** Tells callers how they stand: in the headers that everybody knows, and in those of the draft of the IETF. */
export function withRateHeaders(exchange: Exchange, counts: Counts): Exchange {
  return async (incoming) => {
    const outgoing = await exchange(incoming)
    const standing = rateHeaders(counts, incoming)
    return standing ? { ...outgoing, headers: { ...outgoing.headers, ...standing } } : outgoing
  }
}

/** A service that counts messages to skills and open streams. */
export function limitService(
  service: Service,
  limits: Limits,
  skillOf: (request: SendRequest) => string | undefined,
): Service {
  return {
    ...service,
    async sendMessage(request, call) {
      await limits.countSkill(skillOf(request))
      return await service.sendMessage(request, call)
    },
    async *streamMessage(request, call) {
      const skill = skillOf(request)
      await limits.countSkill(skill)
      const release = await limits.hold('streams', call.principal, skill)
      try {
        yield* service.streamMessage(request, call)
      } finally {
        release?.()
      }
    },
    async *subscribeToTask(request, call) {
      const release = await limits.hold('streams', call.principal, undefined)
      try {
        yield* service.subscribeToTask(request, call)
      } finally {
        release?.()
      }
    },
  }
}

/** Refuses calls while there is too much to do, before anybody asks who is calling: that, too, is work. */
export function refuseWhenOverloaded(
  principalOf: PrincipalOfUnlessOverloaded,
  { isOver }: Pick<Load, 'isOver'>,
): PrincipalOfUnlessOverloaded {
  // Not async: most principals are known at once.
  return (incoming) => {
    if (isOver()) throw overloaded()
    return principalOf(incoming)
  }
}

export function rateHeaders(counts: Counts, incoming: Incoming): Readonly<Record<string, string>> | undefined {
  const counted = counts.get(incoming)
  if (!counted || counted.length === 0) return undefined
  const [tightest] = [...counted].sort((one, other) => one.remaining - other.remaining)
  const list = (tell: (each: Counted) => string) => counted.map((each) => `"${each.policy}";${tell(each)}`).join(', ')
  return {
    'x-ratelimit-limit': `${tightest?.rate.limit}`,
    'x-ratelimit-remaining': `${tightest?.remaining}`,
    'x-ratelimit-reset': `${Math.ceil(Date.now() / 1000 + (tightest?.fullAfter ?? 0))}`,
    'ratelimit-policy': list(({ rate }) => `q=${rate.limit};w=${rate.window}`),
    ratelimit: list(({ remaining, retryAfter, fullAfter }) => `r=${remaining};t=${Math.ceil(retryAfter || fullAfter)}`),
  }
}

type PrincipalOf = WireOptions['principalOf']

type PrincipalOfUnlessOverloaded = WireOptions['principalOf']
