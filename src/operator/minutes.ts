import type { Phase } from '../core/protocol/states.ts'
import type { ListCursor } from '../core/tasks/log.ts'
import { activePhases, contentPhases, type MinuteSummary, type OperatorLog } from '../core/tasks/operator-log.ts'

/** How far back minutes are kept, and made up for after a time without a process. In milliseconds. */
const keptMinutes = 25 * 60 * 60 * 1000

const minute = 60_000

/** A minute is summarised this long after its end: another replica may have stored its last events just now. */
const settleTime = 5_000

/** Tasks that are read at once; other work gets its turn in between. */
const pageSize = 1_000

/** Each bucket of durations is this much wider than the one before: percentiles are exact to 5 %. */
const growth = 1.1

/** Stores the summaries of minutes that have passed since the last one. Several replicas may do so at once. */
export async function rollUpMinutes(log: OperatorLog, now: number): Promise<void> {
  const oldest = floorMinute(now - keptMinutes)
  const stored = await log.minutes(oldest)
  const from = Math.max(oldest, (stored.at(-1)?.minute ?? 0) + minute)
  const to = floorMinute(now - settleTime)
  if (from >= to) return
  const summaries = await summarizeMinutes(log, from, to)
  // The last one is stored even if it is empty: it says how far the others reach.
  await log.keepMinutes(
    [...summaries, ...(summaries.at(-1)?.minute === to - minute ? [] : [emptyMinute(to - minute)])],
    oldest,
  )
}

/** What happened from a minute on until another one, from the heads of tasks. Minutes in which nothing happened are left out. */
export async function summarizeMinutes(log: OperatorLog, from: number, to: number): Promise<readonly MinuteSummary[]> {
  const minutes = new Map<number, Mutable>()
  const at = (time: number) => {
    const start = floorMinute(time)
    const found = minutes.get(start) ?? { ...emptyMinute(start), durations: {} as Record<string, number> }
    minutes.set(start, found)
    return found
  }
  /** A task that changes its phase while phases are read must not count twice. */
  const started = new Set<number>()
  for (const phase of contentPhases) {
    let after: ListCursor = { changed: from - 1, key: Number.MAX_SAFE_INTEGER }
    for (;;) {
      // A task that was created in this time has changed since.
      const page = await log.activity(phase, after, pageSize)
      for (const { key, created, changed } of page) {
        if (created >= from && created < to && !started.has(key)) at(created).started++
        if (activePhases.some((active) => active === phase)) started.add(key)
        const outcome = outcomes[phase]
        if (outcome === undefined || changed >= to) continue
        const summary = at(changed)
        summary[outcome]++
        const bucket = bucketOf(changed - created)
        summary.durations[bucket] = (summary.durations[bucket] ?? 0) + 1
      }
      const last = page.at(-1)
      if (!last || page.length < pageSize) break
      after = last
      await new Promise((resolve) => setTimeout(resolve, 0))
    }
  }
  return [...minutes.values()].sort((one, other) => one.minute - other.minute)
}

function emptyMinute(start: number): MinuteSummary {
  return { minute: start, started: 0, completed: 0, failed: 0, canceled: 0, durations: {} }
}

/** The duration in milliseconds below which this share of the tasks ended. Undefined if none ended. */
export function percentileOf(durations: MinuteSummary['durations'], share: number): number | undefined {
  const buckets = Object.entries(durations)
    .map(([bucket, count]) => [Number(bucket), count] as const)
    .sort(([one], [other]) => one - other)
  const total = buckets.reduce((sum, [, count]) => sum + count, 0)
  let seen = 0
  for (const [bucket, count] of buckets) {
    seen += count
    if (seen >= total * share) return Math.round(growth ** (bucket + 0.5) - 1)
  }
  return undefined
}

export function floorMinute(time: number): number {
  return Math.floor(time / minute) * minute
}

type Outcome = 'completed' | 'failed' | 'canceled'

type Mutable = { -readonly [K in Exclude<keyof MinuteSummary, 'durations'>]: MinuteSummary[K] } & {
  durations: Record<string, number>
}

const outcomes: Readonly<Partial<Record<Phase, Outcome>>> = {
  answered: 'completed',
  completed: 'completed',
  failed: 'failed',
  rejected: 'failed',
  unknown: 'failed',
  canceled: 'canceled',
}

function bucketOf(duration: number): number {
  return Math.floor(Math.log(Math.max(0, duration) + 1) / Math.log(growth))
}
