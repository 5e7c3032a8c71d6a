import { createMemoryOperatorState, type OperatorRecord, type OperatorRecords } from '../core/base/operator-state.ts'
import { createRecordBatch } from '../core/base/record-batch.ts'
import type { RegistryEntry } from './entry.ts'

/** Probes that are kept of an agent. */
const maxProbes = 100

/** Probes that are kept of all agents together, and for how long, in milliseconds. */
const maxKept = 100_000
const lifetime = 30 * 24 * 60 * 60 * 1000

/** Probes that a process stores per second. */
const probesPerSecond = 500

/** Stored probes after which old ones are removed. */
const trimInterval = 1_000

/** A check of an agent. */
export interface Probe {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly isUp: boolean
  /** In milliseconds. */
  readonly latency: number
  readonly problem?: string
}

/** Called when an agent was checked. Must not throw. */
export type OnProbe = (id: RegistryEntry['id'], probe: Probe) => void

/** Keeps the last probes of each agent, by all replicas of a registry. */
export interface ProbeRecord {
  readonly add: OnProbe
  /** The probes of these agents, oldest first. */
  of(ids: readonly RegistryEntry['id'][]): Promise<ReadonlyMap<RegistryEntry['id'], readonly Probe[]>>
  /** Stores what has not been stored yet. */
  flush(): Promise<void>
}

export interface ProbeRecordOptions {
  /** Defaults to the memory of this process. */
  readonly records?: OperatorRecords | undefined
  readonly onError: (error: unknown) => void
}

export function createProbeRecord(options: ProbeRecordOptions): ProbeRecord {
  const { records = createMemoryOperatorState().records, onError } = options
  const batch = createRecordBatch({
    kind: 'probe',
    keep: maxProbes,
    limit: probesPerSecond,
    onError,
    records: () => records,
  })
  let untilTrim = trimInterval

  function trim(): void {
    untilTrim = trimInterval
    records.trim('probe', Date.now() - lifetime, maxKept).catch(onError)
  }

  return {
    add(id, { at, ...probe }) {
      batch.add(() => ({ list: id, at, value: JSON.stringify(probe) }), !probe.isUp)
      if (--untilTrim === 0) trim()
    },
    async of(ids) {
      await batch.flush()
      const byId = new Map<string, Probe[]>(ids.map((id) => [id, []]))
      const stored = await records.read('probe', { lists: ids, limit: ids.length * maxProbes })
      for (const record of stored) byId.get(record.list)?.push(decodeProbe(record))
      return byId
    },
    flush: batch.flush,
  }
}

function decodeProbe({ at, value }: OperatorRecord): Probe {
  return { at, ...(JSON.parse(value) as Omit<Probe, 'at'>) }
}
