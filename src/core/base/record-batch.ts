import type { NewRecord, OperatorRecords, RecordKind } from './operator-state.ts'

/** Milliseconds between the first record of a batch and its write. */
const delay = 1_000

export interface RecordBatchOptions {
  readonly kind: RecordKind
  /** Records that each list keeps. */
  readonly keep: number
  /** Records that are stored at most per second. Others are dropped, urgent ones last. */
  readonly limit: number
  readonly records: () => OperatorRecords | undefined
  readonly onError: (error: unknown) => void
}

/** Collects records and stores them once a second, so that observing costs a busy process next to nothing. */
export interface RecordBatch {
  /** `encode` runs when the batch is stored. */
  add(encode: () => NewRecord, isUrgent?: boolean): void
  /** Stores what has been collected. Never rejects. */
  flush(): Promise<void>
}

export function createRecordBatch({ kind, keep, limit, records, onError }: RecordBatchOptions): RecordBatch {
  let batch: { readonly encode: () => NewRecord; readonly isUrgent: boolean }[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const collected = batch
    batch = []
    if (collected.length === 0) return
    try {
      await records()?.append(
        kind,
        collected.map(({ encode }) => encode()),
        keep,
      )
    } catch (error) {
      onError(error)
    }
  }

  return {
    flush,
    add(encode, isUrgent = false) {
      if (batch.length >= limit) {
        const place = isUrgent ? batch.findIndex((other) => !other.isUrgent) : -1
        if (place < 0) return
        batch.splice(place, 1)
      }
      batch.push({ encode, isUrgent })
      if (timer !== undefined) return
      timer = setTimeout(() => void flush(), delay)
      ;(timer as { unref?: () => void }).unref?.()
    },
  }
}
