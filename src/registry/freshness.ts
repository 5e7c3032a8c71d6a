import type { A2AOptions } from './options.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

export interface AgeBounds {
  /** Milliseconds before which a card is not read again, and after which it is, whatever its headers say. */
  readonly min: number
  readonly max: number
  /** Where they say nothing. */
  readonly usual: number
}

export function ageBounds({ minAge = minute, maxAge = day, usualAge = hour }: Pick<A2AOptions, Bound> = {}): AgeBounds {
  return { min: minAge, max: maxAge, usual: usualAge }
}

/** For how long what came with these headers is to be believed (RFC 9111 §4.2), in milliseconds. */
export function freshFor(headers: Headers, now: number, { min, max, usual }: AgeBounds): number {
  return Math.min(max, Math.max(min, lifetimeOf(headers, now) ?? usual))
}

type Bound = 'minAge' | 'maxAge' | 'usualAge'

function lifetimeOf(headers: Headers, now: number): number | undefined {
  const control = headers.get('cache-control')?.toLowerCase() ?? ''
  if (/(?:^|[,\s])no-(?:store|cache)(?:$|[,\s=])/.test(control)) return 0
  const seconds = control.match(/(?:^|[,\s])max-age\s*=\s*"?(\d{1,10})/)?.[1]
  if (seconds !== undefined) {
    const age = Number(headers.get('age') ?? 0)
    return (Number(seconds) - (Number.isFinite(age) && age > 0 ? age : 0)) * 1000
  }
  const expires = headers.get('expires')
  if (expires === null) return undefined
  const [until, date] = [Date.parse(expires), Date.parse(headers.get('date') ?? '')]
  // What is no date is over (RFC 9111 §5.3), such as the "0" that many send.
  return Number.isNaN(until) ? 0 : until - (Number.isNaN(date) ? now : date)
}
