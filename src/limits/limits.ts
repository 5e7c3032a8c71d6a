import type { Logger } from '../base/logger.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/model.ts'
import { ownerOf } from '../protocol/principal.ts'
import { createMemoryLimits, type LimitStore, type RateLimit, type RateState, type Release } from './limit-store.ts'

const words: Readonly<Record<LimitedResource, string>> = {
  turns: 'turns',
  streams: 'open streams',
  queued: 'waiting messages',
}

export interface Quota {
  /** Calls of any kind; for a skill, messages to it. */
  readonly requests?: RateLimit
  /** Turns at work at once. */
  readonly turns?: number
  /** Streams open at once. */
  readonly streams?: number
  /** Messages at once that were sent to tasks at work, until they are taken up. */
  readonly queued?: number
}

/** How much callers may use. What is not said has no limit. */
export interface LimitOptions {
  /** Of each principal. Callers without credentials are one. */
  readonly perPrincipal?: Quota
  /** Of all principals of a tenant together. */
  readonly perTenant?: Quota
  /** Of all who use a skill together, by its id. */
  readonly perSkill?: Readonly<Record<string, Quota>>
  /** Where it is counted. In this process by default; replicas share one in PostgreSQL. */
  readonly store?: LimitStore
}

/** A rate that was counted, by the name of its policy. */
export interface CountedRate extends RateState {
  readonly policy: string
  readonly rate: RateLimit
}

/** Of what one has places. */
export type LimitedResource = 'turns' | 'streams' | 'queued'

export interface Limits {
  /** Counts a call. The caller looks whether all are allowed. */
  count(principal: Principal): Promise<readonly CountedRate[]>
  /** Counts a message to a skill, and throws `rate-limited` if it is one too many. */
  countSkill(skill: string | undefined): Promise<void>
  /** Throws `rate-limited` if there is no place; give it back when it is over. Undefined if nobody counts. */
  hold(kind: LimitedResource, principal: Principal, skill: string | undefined): Promise<Release | undefined>
}

export function createLimits(options: LimitOptions, logger: Logger): Limits {
  const { perPrincipal, perTenant, perSkill = {}, store = createMemoryLimits() } = options
  for (const allowance of [perPrincipal, perTenant, ...Object.values(perSkill)]) if (allowance) check(allowance)

  function callersOf(principal: Principal): readonly Payer[] {
    const { tenant } = principal
    const payers: Payer[] = []
    if (perPrincipal) payers.push({ policy: 'principal', key: `p ${ownerOf(principal)}`, allowance: perPrincipal })
    if (perTenant && tenant !== undefined) payers.push({ policy: 'tenant', key: `t ${tenant}`, allowance: perTenant })
    return payers
  }

  function skillsOf(skill: string | undefined): readonly Payer[] {
    const allowance = skill !== undefined && Object.hasOwn(perSkill, skill) ? perSkill[skill] : undefined
    return allowance ? [{ policy: 'skill', key: `s ${skill}`, allowance }] : []
  }

  async function countAll(payers: readonly Payer[]): Promise<readonly CountedRate[]> {
    const counted = payers.flatMap(({ policy, key, allowance: { requests: rate } }) =>
      rate ? [reliably(async () => ({ ...(await store.take(key, rate)), policy, rate }))] : [],
    )
    return await Promise.all(counted)
  }

  async function reliably<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      logger.error({ error }, 'limits could not be counted')
      throw new A2AError('unavailable', 'This agent cannot count calls just now: try again.', { retryAfter: 1 })
    }
  }

  return {
    count: (principal) => countAll(callersOf(principal)),
    async countSkill(skill) {
      requireAllowed(await countAll(skillsOf(skill)))
    },
    async hold(kind, principal, skill) {
      const releases: Release[] = []
      const release = () => {
        for (const each of releases.splice(0)) each()
      }
      for (const { policy, key, allowance } of [...callersOf(principal), ...skillsOf(skill)]) {
        const places = allowance[kind]
        if (places === undefined) continue
        const held = await reliably(async () => await store.hold(`${kind} ${key}`, places)).catch((error) => {
          release()
          throw error
        })
        if (!held) {
          release()
          throw tooMany(`This ${policy} has ${places} ${words[kind]} at once, and no more: try again later.`, 1, policy)
        }
        releases.push(held)
      }
      return releases.length > 0 ? release : undefined
    },
  }
}

/** Throws what a caller is told who has asked too often. */
export function requireAllowed(counted: readonly CountedRate[]): void {
  const [worst] = counted.filter(({ isAllowed }) => !isAllowed).sort((one, other) => other.retryAfter - one.retryAfter)
  if (!worst) return
  const { policy, rate, retryAfter } = worst
  const text = `This ${policy} may call ${rate.limit} times in ${rate.window} seconds: try again later.`
  throw tooMany(text, Math.max(retryAfter, 0.001), policy)
}

function check({ requests, turns, streams, queued }: Quota): void {
  for (const [name, value] of Object.entries({ ...requests, turns, streams, queued })) {
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue
    throw new TypeError(`limits: expected ${name} to be a number above 0, got ${value}`)
  }
}

interface Payer {
  readonly policy: string
  readonly key: string
  readonly allowance: Quota
}

function tooMany(text: string, retryAfter: number, policy: string): A2AError {
  return new A2AError('rate-limited', text, { retryAfter, metadata: { policy } })
}
