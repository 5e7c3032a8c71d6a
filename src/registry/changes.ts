import { linkSignals } from '../core/base/abort.ts'
import type { RegistryStore, StoredChange } from './entry.ts'

const pageSize = 100

export interface FollowOptions {
  /** Number of the last change that the caller has seen. Defaults to the latest change. */
  readonly after?: number
  /** Ends the iteration. */
  readonly signal?: AbortSignal
}

/** A change of an entry, or `reset`: the store has dropped changes, so the caller must read all entries again. */
export type RegistryChange = StoredChange | { readonly number: number; readonly type: 'reset' }

/**
 * Yields changes as the caller reads them. The store keeps the changes for all readers, so a slow reader needs no buffer.
 * Without `after`, it starts at the latest change when the store answers; the store is queried immediately.
 */
export function followChanges(
  entries: RegistryStore,
  { after, signal }: FollowOptions,
  closed: AbortSignal,
): AsyncGenerator<RegistryChange> {
  const start = after === undefined ? entries.changes(0, 1).then(({ latest }) => latest) : Promise.resolve(after)
  start.catch(() => {}) // the first next() rejects with it
  return readChanges(entries, start, signal ? [signal, closed] : [closed])
}

async function* readChanges(
  entries: RegistryStore,
  start: Promise<number>,
  signals: readonly AbortSignal[],
): AsyncGenerator<RegistryChange> {
  const { signal, release } = linkSignals(signals)
  try {
    let after = await start
    while (!signal.aborted) {
      const { changes, latest } = await entries.changes(after, pageSize)
      if (!changes) {
        yield { number: latest, type: 'reset' }
        after = latest
        continue
      }
      for (const change of changes) {
        if (signal.aborted) return
        yield change
        after = change.number
      }
      if (changes.length === 0) await entries.wait(after, signal)
    }
  } finally {
    release()
  }
}
