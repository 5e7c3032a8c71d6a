import type { Logger } from '../core/base/logger.ts'
import type { OperatorState } from '../core/base/operator-state.ts'
import { createRecordBatch, type RecordBatch } from '../core/base/record-batch.ts'
import { loggedError } from '../core/protocol/errors.ts'
import type { TaskLog } from '../core/tasks/log.ts'
import type { LogWithOperator } from '../core/tasks/operator-log.ts'
import type { MeshEnvelope, MeshState } from './contract-tools.ts'
import { encodeTaskLine, type KeepingLogger, keepTaskLines, type TaskLine } from './task-lines.ts'

/** Lines of an agent that a process stores per second. More would cost a busy agent more than they are worth. */
const linesPerSecond = 100

/** How long lines and envelopes are kept, and deliveries to the built-in webhook receivers. In milliseconds. */
const retention = { lines: 7 * 24 * 60 * 60 * 1000, deliveries: 60 * 60 * 1000 }

/** Records of each kind that a store keeps, of all lists together. */
const maxRecords = { lines: 20_000, deliveries: 1_000, envelopes: 500, peers: 50 }

/** Lines that are kept of one task. */
const linesPerTask = 500

/** Peers whose sessions a process stores. */
const maxPeers = 200

/** Stores what operators see of this process, so that every replica shows it and a restart loses none of it. */
export interface ConsoleRecorder {
  /** Names this process among the replicas. */
  readonly process: string
  /** The logger of an agent. Its lines about tasks are kept, and stored in the agent's log. */
  loggerFor(logger: Logger, log: TaskLog): Logger
  /** The lines of an agent in the memory of this process, oldest first. */
  linesOf(log: LogWithOperator): readonly TaskLine[]
  /** Stores the last lines of an agent that is removed, before its log is closed. */
  release(log: LogWithOperator): Promise<void>
  /** An envelope of the mesh peer was sent or received, or failed. */
  envelope(envelope: MeshEnvelope): void
  /** Stores the sessions of the mesh peer, and removes old records. Called every minute. */
  upkeep(mesh: MeshState | undefined): Promise<void>
  /** Stores what has not been stored yet. */
  flush(): Promise<void>
}

export interface RecorderOptions {
  /** Names this process among the replicas. */
  readonly process: string
  /** Where records are that belong to no task. */
  readonly state: () => OperatorState | undefined
  readonly logger: Logger
}

export function createConsoleRecorder({ process, state, logger }: RecorderOptions): ConsoleRecorder {
  const kept = new Map<LogWithOperator, { readonly keeping: KeepingLogger; readonly batch: RecordBatch }>()
  const onError = (error: unknown) =>
    logger.debug({ error: loggedError(error) }, 'records for operators could not be stored')
  const envelopes = createRecordBatch({
    kind: 'envelope',
    keep: maxRecords.envelopes,
    limit: linesPerSecond,
    onError,
    records: () => state()?.records,
  })

  async function trim(log: LogWithOperator, now: number): Promise<void> {
    await log.operator?.records.trim('log', now - retention.lines, maxRecords.lines)
  }

  return {
    process,
    loggerFor(inner, log: LogWithOperator) {
      const batch = createRecordBatch({
        kind: 'log',
        keep: linesPerTask,
        limit: linesPerSecond,
        onError,
        records: () => log.operator?.records,
      })
      const keeping = keepTaskLines(inner, (line) => {
        const encode = () => ({ list: line.taskId, at: line.at, value: encodeTaskLine(line, process) })
        batch.add(encode, line.level === 'warn' || line.level === 'error')
      })
      kept.set(log, { keeping, batch })
      return keeping.logger
    },
    async release(log) {
      await kept.get(log)?.batch.flush()
      kept.delete(log)
    },
    linesOf: (log) => kept.get(log)?.keeping.taskLines() ?? [],
    envelope(envelope) {
      const encode = () => ({ list: '', at: envelope.at, value: JSON.stringify({ ...envelope, process }) })
      envelopes.add(encode, envelope.problem !== undefined)
    },
    async upkeep(mesh) {
      const now = Date.now()
      for (const log of kept.keys()) await trim(log, now)
      const records = state()?.records
      if (!records) return
      await records.trim('delivery', now - retention.deliveries, maxRecords.deliveries)
      if (!mesh) return
      await records.trim('envelope', now - retention.lines, maxRecords.envelopes)
      await records.trim('peers', now - retention.deliveries, maxRecords.peers)
      const value = JSON.stringify(mesh.peers.slice(0, maxPeers).map((peer) => ({ ...peer, process })))
      await records.append('peers', [{ list: process, at: now, value }], 1)
    },
    async flush() {
      await Promise.all([...[...kept.values()].map(({ batch }) => batch.flush()), envelopes.flush()])
    },
  }
}
