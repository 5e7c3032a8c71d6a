import type { Clock } from '../base/clock.ts'
import { defined } from '../base/json.ts'
import type { OperatorRecord, OperatorRecords } from '../base/operator-state.ts'
import type { Usage } from '../protocol/extensions/usage.ts'
import type { Principal } from '../protocol/model.ts'

const day = 24 * 60 * 60 * 1000

/** Milliseconds after which new usage is stored. */
const delay = 2_000

/** Callers and models that a process counts per day; further ones count as `other`. */
const maxRows = 500

/** How long sums are kept, and how many of them: each process has one per day. */
const retention = { age: 90 * day, count: 5_000 }

/** What a caller used of a model on a day (UTC). */
export interface DayUsage {
  /** Such as `2026-01-31`. */
  readonly day: string
  readonly principal: string
  readonly tenant?: string
  readonly model?: string
  /** How many times it was reported. */
  readonly reports: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** In millionths of the currency in `limits.currency`. */
  readonly cost?: number
}

/** Sums what callers use per day, and stores the sums for operators. */
export interface UsageLog {
  add(usage: Usage, principal: Principal): void
  /** Stores what is new. Never rejects. */
  flush(): Promise<void>
}

export interface UsageLogOptions {
  readonly records: OperatorRecords
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

export function createUsageLog({ records, clock, onError }: UsageLogOptions): UsageLog {
  // A process stores the sums of its days under its own name, and replaces them.
  const process = crypto.randomUUID()
  let today = ''
  let rows = new Map<string, DayUsage>()
  let timer: ReturnType<typeof setTimeout> | undefined

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (rows.size === 0) return
    const at = Date.parse(today)
    try {
      await records.append('usage', [{ list: `${today} ${process}`, at, value: JSON.stringify([...rows.values()]) }], 1)
      await records.trim('usage', at - retention.age, retention.count)
    } catch (error) {
      onError(error)
    }
  }

  return {
    flush,
    add(usage, { id, tenant }) {
      const current = new Date(clock.now()).toISOString().slice(0, 10)
      if (current !== today) {
        void flush()
        today = current
        rows = new Map()
      }
      const key = JSON.stringify([id, tenant, usage.model])
      const isCounted = rows.has(key) || rows.size < maxRows
      const caller = isCounted ? defined({ principal: id, tenant, model: usage.model }) : { principal: 'other' }
      const name = isCounted ? key : 'other'
      rows.set(
        name,
        sumOf([rows.get(name) ?? emptyDay(today, caller), { ...emptyDay(today, caller), ...countsOf(usage) }]),
      )
      if (timer !== undefined) return
      timer = setTimeout(() => void flush(), delay)
      ;(timer as { unref?: () => void }).unref?.()
    },
  }
}

/** What callers used since a time, summed over all processes, the newest day first. */
export async function readUsage(records: OperatorRecords, since: number): Promise<readonly DayUsage[]> {
  const stored = await records.read('usage', { limit: retention.count })
  const sums = new Map<string, DayUsage>()
  for (const row of stored.filter(({ at }) => at >= since).flatMap(rowsIn)) {
    const key = JSON.stringify([row.day, row.principal, row.tenant, row.model])
    const before = sums.get(key)
    sums.set(key, before ? sumOf([before, row]) : row)
  }
  return [...sums.values()].sort((one, other) => other.day.localeCompare(one.day))
}

function rowsIn({ value }: OperatorRecord): readonly DayUsage[] {
  return JSON.parse(value) as readonly DayUsage[]
}

function emptyDay(today: string, caller: Pick<DayUsage, 'principal' | 'tenant' | 'model'>): DayUsage {
  return { day: today, ...caller, reports: 0, inputTokens: 0, outputTokens: 0 }
}

function countsOf({ inputTokens = 0, outputTokens = 0, cost }: Usage) {
  return { reports: 1, inputTokens, outputTokens, ...defined({ cost }) }
}

function sumOf([one, other]: readonly [DayUsage, DayUsage]): DayUsage {
  const cost = one.cost === undefined ? other.cost : one.cost + (other.cost ?? 0)
  return {
    ...one,
    reports: one.reports + other.reports,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    ...defined({ cost }),
  }
}
