import type { EndedPhase } from '../protocol/states.ts'

/** How long ended tasks are kept, in milliseconds; `Infinity` keeps them. A state may have a time of its own. */
export interface Retention extends Readonly<Partial<Record<EndedPhase, number>>> {
  /** For all states that are not named. 30 days unless said. */
  readonly ended?: number
  /** How long after that it is still known that a task has expired: at least so long. 30 days unless said. */
  readonly tombstones?: number
}

/** What is to be expired together, and when tombstones are forgotten. */
export interface RetentionSettings {
  readonly groups: readonly { readonly age: number; readonly phases: readonly EndedPhase[] }[]
  /** After which time no task is left; of those that are kept for ever, never. */
  readonly longest: number
  readonly forgottenAfter: number
}

const day = 24 * 60 * 60 * 1000
const ended: readonly EndedPhase[] = ['answered', 'completed', 'failed', 'canceled', 'rejected']
const names: readonly string[] = [...ended, 'ended', 'tombstones']

export function readRetention(retention: Retention = {}): RetentionSettings {
  for (const [name, age] of Object.entries(retention)) {
    if (!names.includes(name)) throw new TypeError(`retention: there is no ${name}; expected ${names.join(', ')}`)
    if (typeof age !== 'number' || Number.isNaN(age)) {
      throw new TypeError(`retention.${name}: expected milliseconds, got ${JSON.stringify(age)}`)
    }
  }
  const { ended: usual = 30 * day, tombstones = 30 * day } = retention
  const byAge = new Map<number, EndedPhase[]>()
  for (const phase of ended) {
    const age = retention[phase] ?? usual
    if (Number.isFinite(age)) byAge.set(age, [...(byAge.get(age) ?? []), phase])
  }
  const longest = Math.max(0, ...ended.map((phase) => retention[phase] ?? usual))
  const groups = Array.from(byAge, ([age, phases]) => ({ age, phases }))
  return { groups, longest, forgottenAfter: Math.max(0, ...byAge.keys()) + tombstones }
}
