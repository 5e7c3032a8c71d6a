/** Values that are kept at most; beyond that, those that expire first are removed. */
export const maxValues = 10_000

/** Small values that replicas share, such as sessions of operators. */
export interface OperatorValues {
  /** Undefined if the value is missing or has expired. */
  get(name: string): Promise<string | undefined>
  /** `expires` is in milliseconds since 1970. */
  set(name: string, value: string, expires: number): Promise<void>
  delete(name: string): Promise<void>
}

/**
 * `log`: lines of the task that names their list; without the content of that task, none are kept. `delivery`: what a
 * webhook receiver got. `envelope` and `peers`: what a mesh peer observed. `probe`: checks of the agent that names the list.
 * `usage`: what callers used on a day, as the process counted it that names the list with the day.
 */
export type RecordKind = 'log' | 'delivery' | 'envelope' | 'peers' | 'probe' | 'usage'

export interface NewRecord {
  /** The list that it belongs to, within its kind. */
  readonly list: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly value: string
}

export interface OperatorRecord extends NewRecord {
  /** Counts the records of its list, from 1 on. */
  readonly number: number
}

export interface RecordQuery {
  /** Defaults to all lists of the kind. */
  readonly lists?: readonly string[]
  /** Only records with a higher number. */
  readonly after?: number
  /** The newest ones, if there are more. */
  readonly limit: number
}

/** What processes have observed, in bounded lists that replicas share and that survive a restart. */
export interface OperatorRecords {
  /** Appends records to their lists. Each list keeps its newest `keep`. */
  append(kind: RecordKind, records: readonly NewRecord[], keep: number): Promise<void>
  /** Reads records, oldest first. */
  read(kind: RecordKind, query: RecordQuery): Promise<readonly OperatorRecord[]>
  /** Removes the records of a kind from before a time, and all but the newest `keep`. */
  trim(kind: RecordKind, before: number, keep: number): Promise<void>
}

/** What operators share beside tasks. */
export interface OperatorState {
  readonly values: OperatorValues
  readonly records: OperatorRecords
}

export interface MemoryOperatorStateOptions {
  readonly now?: () => number
  /** Whether a task has content, to which records of the kind `log` may belong. Defaults to every task. */
  readonly hasContent?: (taskId: string) => boolean
}

/** State in the memory of this process. */
export function createMemoryOperatorState(options: MemoryOperatorStateOptions = {}): OperatorState {
  const { now = Date.now, hasContent = () => true } = options
  return { values: createMemoryValues(now), records: createMemoryRecords(hasContent) }
}

function createMemoryValues(now: () => number): OperatorValues {
  const values = new Map<string, { readonly value: string; readonly expires: number }>()
  return {
    async get(name) {
      const found = values.get(name)
      return found && found.expires > now() ? found.value : undefined
    },
    async set(name, value, expires) {
      values.delete(name)
      values.set(name, { value, expires })
      for (const [oldest, entry] of values) {
        if (values.size <= maxValues && entry.expires > now()) break
        values.delete(oldest)
      }
    },
    async delete(name) {
      values.delete(name)
    },
  }
}

function createMemoryRecords(hasContent: (taskId: string) => boolean): OperatorRecords {
  let kinds: Readonly<Partial<Record<RecordKind, readonly OperatorRecord[]>>> = {}
  const isKept = (kind: RecordKind) => (record: NewRecord) => kind !== 'log' || hasContent(record.list)
  const recordsOf = (kind: RecordKind) => (kinds[kind] ?? []).filter(isKept(kind))

  return {
    async append(kind, added, keep) {
      const records = [...recordsOf(kind)]
      for (const record of added.filter(isKept(kind))) {
        const last = records.findLast(({ list }) => list === record.list)?.number ?? 0
        records.push({ ...record, number: last + 1 })
      }
      const counts = new Map<string, number>()
      const kept = records.toReversed().filter(({ list }) => {
        const count = (counts.get(list) ?? 0) + 1
        counts.set(list, count)
        return count <= keep
      })
      kinds = { ...kinds, [kind]: kept.toReversed() }
    },
    async read(kind, { lists, after = 0, limit }) {
      return recordsOf(kind)
        .filter(({ list, number }) => number > after && (lists?.includes(list) ?? true))
        .slice(-limit)
    },
    async trim(kind, before, keep) {
      kinds = {
        ...kinds,
        [kind]: recordsOf(kind)
          .filter(({ at }) => at >= before)
          .slice(-keep),
      }
    },
  }
}
