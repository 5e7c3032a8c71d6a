import type { CountedRate, Limits } from '../limits/limits.ts'
import type { Interceptor } from '../protocol/intercept.ts'
import type { SendRequest } from '../protocol/service.ts'

/** Counts messages to skills, and holds a slot for every open stream. */
export function limitCalls(limits: Limits, skillOf: (request: SendRequest) => string | undefined): Interceptor {
  return {
    async sendMessage(request, call, next) {
      await limits.countSkill(skillOf(request))
      return await next(request, call)
    },
    async *streamMessage(request, call, next) {
      const skill = skillOf(request)
      await limits.countSkill(skill)
      const release = await limits.hold('streams', call.principal, skill)
      try {
        yield* next(request, call)
      } finally {
        release?.()
      }
    },
    async *subscribeToTask(request, call, next) {
      const release = await limits.hold('streams', call.principal, undefined)
      try {
        yield* next(request, call)
      } finally {
        release?.()
      }
    },
  }
}

/** The common `X-RateLimit-*` headers, of the tightest rate, and the headers of the IETF draft, of all rates. */
export function rateHeaders(rates: readonly CountedRate[] = []): Readonly<Record<string, string>> | undefined {
  const [tightest] = [...rates].sort((one, other) => one.remaining - other.remaining)
  if (!tightest) return undefined
  const list = (parameters: (rate: CountedRate) => string) =>
    rates.map((rate) => `"${rate.policy}";${parameters(rate)}`).join(', ')
  return {
    'x-ratelimit-limit': `${tightest.rate.limit}`,
    'x-ratelimit-remaining': `${tightest.remaining}`,
    'x-ratelimit-reset': `${Math.ceil(Date.now() / 1000 + tightest.fullAfter)}`,
    'ratelimit-policy': list(({ rate }) => `q=${rate.limit};w=${rate.window}`),
    ratelimit: list(({ remaining, retryAfter, fullAfter }) => `r=${remaining};t=${Math.ceil(retryAfter || fullAfter)}`),
  }
}
