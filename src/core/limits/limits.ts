import type { Logger } from '../base/logger.ts'
import {
  aFunction,
  anObject,
  anyOf,
  group,
  having,
  isAbove,
  type OptionCheck,
  type OptionChecks,
  text,
} from '../base/options.ts'
import { A2AError, loggedError } from '../protocol/errors.ts'
import type { Usage } from '../protocol/extensions/usage.ts'
import { ownerOf, type Principal } from '../protocol/model.ts'
import { createMemoryLimits, type LimitStore, type RateLimit, type RateState, type Release } from './limit-store.ts'

export interface Quota {
  /** Calls of any kind; for a skill, messages to it. */
  readonly requests?: Budget
  /** Turns running at once. */
  readonly turns?: number
  /** Streams open at once. */
  readonly streams?: number
  /** Messages queued at once for running tasks. */
  readonly queued?: number
}

/** An amount that is available again at a steady rate. */
export interface Budget {
  readonly limit: number
  /** Milliseconds in which that much may be used. */
  readonly per: number
}

/** A quota of a principal or a tenant. */
export interface CallerQuota extends Quota {
  /** Input and output tokens that turns report by `turn.usage`. */
  readonly tokens?: Budget
  /** Cost that turns report, in millionths of `currency`. */
  readonly cost?: Budget
}

/** The quota of a caller, such as that of its plan. Undefined if the caller has no limit. Called for every call, so it must be fast. */
export type QuotaOf = (principal: Principal) => CallerQuota | undefined

/** How much callers may use. A quota that is not given is unlimited. */
export interface LimitOptions {
  /** For each principal. Callers without credentials count as one. */
  readonly perPrincipal?: CallerQuota | QuotaOf
  /** For all principals of a tenant together. A function must return the same for all of them. */
  readonly perTenant?: CallerQuota | QuotaOf
  /** For all callers of a skill together, by its id. */
  readonly perSkill?: Readonly<Record<string, Quota>>
  /** The currency of `cost`, such as `EUR`. Defaults to `USD`. */
  readonly currency?: string
  /** Where uses are counted. Defaults to this process; replicas can share a PostgreSQL store. */
  readonly store?: LimitStore
}

/**
 * The limits of a caller, such as those of its plan. Undefined if the caller has none. Called for every call, so it must be fast. Uses are
 * counted in this process, and skills have no quotas: `limits.perPrincipal` as a function has both.
 */
export type LimitsOf = (
  principal: Principal,
) => { readonly perPrincipal?: CallerQuota; readonly perTenant?: CallerQuota } | undefined

const checkBudget: OptionCheck = (value, name) => {
  anObject(value, name)
  if ('window' in (value as object)) {
    throw new TypeError(`${name}.window: expected per, in milliseconds, such as { limit: 100, per: 60_000 }.`)
  }
  group<Budget>({ limit: isAbove(0), per: isAbove(0) })(value, name)
  const { limit, per } = value as Partial<Budget>
  if (limit !== undefined && per !== undefined) return
  throw new TypeError(`${name}: expected limit and per in milliseconds, such as { limit: 100_000, per: 3_600_000 }.`)
}

const quotaChecks: OptionChecks<Quota> = {
  requests: checkBudget,
  turns: isAbove(0),
  streams: isAbove(0),
  queued: isAbove(0),
}

const checkQuota = group<Quota>(quotaChecks)

const checkCallerQuota = group<CallerQuota>({ ...quotaChecks, tokens: checkBudget, cost: checkBudget })

/** What a function returns is checked when it is called. */
const checkCallerQuotas: OptionCheck = (value, name) => {
  if (typeof value !== 'function') checkCallerQuota(value, name)
}

const checkCurrency: OptionCheck = (value, name) => {
  text(value, name)
  if (/^[A-Z]{3}$/.test(`${value}`)) return
  throw new TypeError(`${name}: expected a code of ISO 4217 such as EUR, got ${JSON.stringify(value)}.`)
}

const checkLimitOptions = group<LimitOptions>({
  perPrincipal: checkCallerQuotas,
  perTenant: checkCallerQuotas,
  currency: checkCurrency,
  perSkill(value, name) {
    anObject(value, name)
    for (const [skill, quota] of Object.entries(value as object)) checkQuota(quota, `${name}.${skill}`)
  },
  store: having('a limit store such as createMemoryLimits()', 'take', 'hold'),
})

/** Checks `limits` where a server is created. What a function returns is checked when it is called. */
export const checkLimits: OptionCheck = anyOf(
  'an object with perPrincipal, perTenant, perSkill, currency, store, or a function of the principal that returns perPrincipal and perTenant',
  checkLimitOptions,
  aFunction,
)

const checkPlan = group<NonNullable<ReturnType<LimitsOf>>>({
  perPrincipal: checkCallerQuota,
  perTenant: checkCallerQuota,
})

/** Limits as an object, whose quotas are functions if the limits are one. */
export function toLimitOptions(limits: LimitOptions | LimitsOf): LimitOptions {
  if (typeof limits !== 'function') return limits
  const quotaOf = (name: 'perPrincipal' | 'perTenant') => (principal: Principal) => {
    const plan = limits(principal)
    if (plan !== undefined) checkPlan(plan, 'limits()')
    return plan?.[name]
  }
  return { perPrincipal: quotaOf('perPrincipal'), perTenant: quotaOf('perTenant') }
}

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
  /** Throws `rate-limited` if the principal or its tenant has used up its tokens or its cost. */
  requireBudget(principal: Principal): Promise<void>
  /** Counts what a turn used. Resolves with the reason to stop it if that was too much. */
  charge(principal: Principal, usage: Usage): Promise<string | undefined>
  /** Takes a slot until it is released. Throws `rate-limited` if none is free. Undefined if there is no limit. */
  hold(resource: LimitedResource, principal: Principal, skill: string | undefined): Promise<Release | undefined>
}

export function createLimits(options: LimitOptions, logger: Logger): Limits {
  const { perPrincipal, perTenant, perSkill = {}, currency = 'USD', store = createMemoryLimits() } = options
  const hasBudgets = [perPrincipal, perTenant].some(
    (quota) => quota && (typeof quota === 'function' || quota.tokens || quota.cost),
  )
  if (hasBudgets && !store.charge) {
    throw new TypeError('limits.store: this store cannot count tokens and cost; expected one with charge().')
  }

  function policiesFor(principal: Principal): readonly (Policy & { readonly quota: CallerQuota })[] {
    const { tenant } = principal
    const policies: (Policy & { readonly quota: CallerQuota })[] = []
    const own = quotaFor('perPrincipal', principal)
    const common = tenant === undefined ? undefined : quotaFor('perTenant', principal)
    if (own) policies.push({ name: 'principal', key: `p ${ownerOf(principal)}`, quota: own })
    if (common) policies.push({ name: 'tenant', key: `t ${tenant}`, quota: common })
    return policies
  }

  /** A function that fails rejects the call: without a quota, no limit would hold. */
  function quotaFor(name: 'perPrincipal' | 'perTenant', principal: Principal): CallerQuota | undefined {
    const quota = { perPrincipal, perTenant }[name]
    if (typeof quota !== 'function') return quota
    try {
      const plan = quota(principal)
      if (plan !== undefined) checkCallerQuota(plan, `limits.${name}()`)
      return plan
    } catch (error) {
      logger.error({ error: loggedError(error) }, 'limits could not be counted')
      throw new A2AError('unavailable', 'This agent cannot count calls just now: try again.', { retryAfter: 1 })
    }
  }

  function policiesForSkill(skill: string | undefined): readonly Policy[] {
    const quota = skill !== undefined && Object.hasOwn(perSkill, skill) ? perSkill[skill] : undefined
    return quota ? [{ name: 'skill', key: `s ${skill}`, quota }] : []
  }

  async function countAll(policies: readonly Policy[]): Promise<readonly CountedRate[]> {
    const counted = policies.flatMap(({ name: policy, key, quota: { requests } }) => {
      if (!requests) return []
      const rate = rateOf(requests)
      return [orUnavailable(async () => ({ ...(await store.take(key, rate)), policy, rate }))]
    })
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

  /** Counts an amount of tokens and cost, and returns the first budget that is used up. */
  async function chargeAll(principal: Principal, used: { readonly tokens: number; readonly cost: number }) {
    if (!hasBudgets) return undefined
    const charges = policiesFor(principal).flatMap(({ name, key, quota }) =>
      (['tokens', 'cost'] as const).flatMap((what) => {
        const budget = quota[what]
        if (!budget) return []
        const rate = rateOf(budget)
        const unit = what === 'tokens' ? 'tokens' : `millionths of ${currency}`
        const text = `This ${name} has used up its limit of ${budget.limit} ${unit} in ${budget.per} ms: try again later.`
        return [
          orUnavailable(async () => await store.charge?.(`${what} ${key}`, rate, used[what])).then((state) =>
            state?.isAllowed === false ? { name, text, retryAfter: state.retryAfter } : undefined,
          ),
        ]
      }),
    )
    return (await Promise.all(charges)).find((exceeded) => exceeded !== undefined)
  }

  return {
    async requireBudget(principal) {
      const exceeded = await chargeAll(principal, { tokens: 0, cost: 0 })
      if (exceeded) throw rateLimited(exceeded.text, Math.max(exceeded.retryAfter, 1), exceeded.name)
    },
    async charge(principal, { inputTokens = 0, outputTokens = 0, cost = 0 }) {
      return (await chargeAll(principal, { tokens: inputTokens + outputTokens, cost }))?.text
    },
    count: async (principal) => await countAll(policiesFor(principal)),
    async countSkill(skill) {
      requireAllowed(await countAll(policiesForSkill(skill)))
    },
    async hold(resource, principal, skill) {
      const releases: Release[] = []
      const releaseAll = async () => {
        await Promise.all(releases.splice(0).map((release) => release()))
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

/** As stores count it. */
function rateOf({ limit, per }: Budget): RateLimit {
  return { limit, window: per / 1000 }
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
