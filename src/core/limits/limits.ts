import type { Logger } from '../base/logger.ts'
import { group, having, isAbove, type OptionCheck, object } from '../base/options.ts'
import { A2AError, loggedError } from '../protocol/errors.ts'
import { ownerOf, type Principal } from '../protocol/model.ts'
import { createMemoryLimits, type LimitStore, type RateLimit, type RateState, type Release } from './limit-store.ts'

export interface Quota {
  /** Calls of any kind; for a skill, messages to it. */
  readonly requests?: RateLimit
  /** Turns running at once. */
  readonly turns?: number
  /** Streams open at once. */
  readonly streams?: number
  /** Messages queued at once for running tasks. */
  readonly queued?: number
}

/** How much callers may use. A quota that is not given is unlimited. */
export interface LimitOptions {
  /** For each principal. Callers without credentials count as one. */
  readonly perPrincipal?: Quota
  /** For all principals of a tenant together. */
  readonly perTenant?: Quota
  /** For all callers of a skill together, by its id. */
  readonly perSkill?: Readonly<Record<string, Quota>>
  /** Where uses are counted. Defaults to this process; replicas can share a PostgreSQL store. */
  readonly store?: LimitStore
}

const checkRate: OptionCheck = (value, name) => {
  group<RateLimit>({ limit: isAbove(0), window: isAbove(0) })(value, name)
  const { limit, window } = value as Partial<RateLimit>
  if (limit === undefined || window === undefined) {
    throw new TypeError(`${name}: expected limit and window in seconds, such as { limit: 100, window: 60 }.`)
  }
}

const checkQuota = group<Quota>({
  requests: checkRate,
  turns: isAbove(0),
  streams: isAbove(0),
  queued: isAbove(0),
})

/** Checks `limits` where a server is created. */
export const checkLimits: OptionCheck = group<LimitOptions>({
  perPrincipal: checkQuota,
  perTenant: checkQuota,
  perSkill(value, name) {
    object(value, name)
    for (const [skill, quota] of Object.entries(value as object)) checkQuota(quota, `${name}.${skill}`)
  },
  store: having('a limit store such as createMemoryLimits()', 'take', 'hold'),
})

/** A counted rate, with the name of its policy. */
export interface CountedRate extends RateState {
  readonly policy: string
  readonly rate: RateLimit
}

/** A resource that a quota limits by slots. */
export type LimitedResource = 'turns' | 'streams' | 'queued'

export interface Limits {
  /** Counts a call. Check the result with `requireAllowed`. */
  count(principal: Principal): Promise<readonly CountedRate[]>
  /** Counts a message to a skill. Throws `rate-limited` if it is one too many. */
  countSkill(skill: string | undefined): Promise<void>
  /** Takes a slot until it is released. Throws `rate-limited` if none is free. Undefined if there is no limit. */
  hold(resource: LimitedResource, principal: Principal, skill: string | undefined): Promise<Release | undefined>
}

export function createLimits(options: LimitOptions, logger: Logger): Limits {
  const { perPrincipal, perTenant, perSkill = {}, store = createMemoryLimits() } = options

  function policiesFor(principal: Principal): readonly Policy[] {
    const { tenant } = principal
    const policies: Policy[] = []
    if (perPrincipal) policies.push({ name: 'principal', key: `p ${ownerOf(principal)}`, quota: perPrincipal })
    if (perTenant && tenant !== undefined) policies.push({ name: 'tenant', key: `t ${tenant}`, quota: perTenant })
    return policies
  }

  function policiesForSkill(skill: string | undefined): readonly Policy[] {
    const quota = skill !== undefined && Object.hasOwn(perSkill, skill) ? perSkill[skill] : undefined
    return quota ? [{ name: 'skill', key: `s ${skill}`, quota }] : []
  }

  async function countAll(policies: readonly Policy[]): Promise<readonly CountedRate[]> {
    const counted = policies.flatMap(({ name: policy, key, quota: { requests: rate } }) =>
      rate ? [orUnavailable(async () => ({ ...(await store.take(key, rate)), policy, rate }))] : [],
    )
    return await Promise.all(counted)
  }

  /** If the store fails, calls are rejected: without counts, no limit would hold. */
  async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      logger.error({ error: loggedError(error) }, 'limits could not be counted')
      throw new A2AError('unavailable', 'This agent cannot count calls just now: try again.', { retryAfter: 1 })
    }
  }

  return {
    count: (principal) => countAll(policiesFor(principal)),
    async countSkill(skill) {
      requireAllowed(await countAll(policiesForSkill(skill)))
    },
    async hold(resource, principal, skill) {
      const releases: Release[] = []
      const releaseAll = () => {
        for (const release of releases.splice(0)) release()
      }
      for (const { name, key, quota } of [...policiesFor(principal), ...policiesForSkill(skill)]) {
        const slots = quota[resource]
        if (slots === undefined) continue
        const release = await orUnavailable(async () => await store.hold(`${resource} ${key}`, slots)).catch(
          (error) => {
            releaseAll()
            throw error
          },
        )
        if (!release) {
          releaseAll()
          const text = `This ${name} has ${slots} ${resourceNames[resource]} at once, and no more: try again later.`
          throw rateLimited(text, 1, name)
        }
        releases.push(release)
      }
      return releases.length > 0 ? releaseAll : undefined
    },
  }
}

/** Throws `rate-limited` if a rate is exceeded, with the longest wait. */
export function requireAllowed(rates: readonly CountedRate[]): void {
  const [worst] = rates.filter(({ isAllowed }) => !isAllowed).sort((one, other) => other.retryAfter - one.retryAfter)
  if (!worst) return
  const { policy, rate, retryAfter } = worst
  const text = `This ${policy} may call ${rate.limit} times in ${rate.window} seconds: try again later.`
  throw rateLimited(text, Math.max(retryAfter, 0.001), policy)
}

interface Policy {
  readonly name: string
  readonly key: string
  readonly quota: Quota
}

const resourceNames: Readonly<Record<LimitedResource, string>> = {
  turns: 'turns',
  streams: 'open streams',
  queued: 'waiting messages',
}

function rateLimited(text: string, retryAfter: number, policy: string): A2AError {
  return new A2AError('rate-limited', text, { retryAfter, metadata: { policy } })
}
