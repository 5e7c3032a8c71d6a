import type { EntryStore, StoredChange } from './entry.ts'

const atOnce = 100

export interface FollowOptions {
  /** The number of the last change that is known; from now on without it. */
  readonly after?: number
  /** Ends it. */
  readonly signal?: AbortSignal
}

/** What happened to an entry; or `reset`: so much happened that one has to look at everything anew. */
export type RegistryChange = StoredChange | { readonly number: number; readonly type: 'reset' }

/**
 * What changes, as it is read: nothing is kept for who does not read, since the store remembers it for all. Without
 * `after` it begins where the store is when it has answered the first question, which is asked at once.
 */
export function follow(
  entries: EntryStore,
  { after, signal }: FollowOptions,
  closed: AbortSignal,
): AsyncGenerator<RegistryChange> {
  const begin = after === undefined ? entries.changes(0, 1).then(({ latest }) => latest) : Promise.resolve(after)
  begin.catch(() => {}) // Who reads hears of it.
  return untilEither(signal, closed, (ending) => read(entries, begin, ending))
}

/** Lets go of both when it is over, unlike `AbortSignal.any`. */
async function* untilEither(
  signal: AbortSignal | undefined,
  closed: AbortSignal,
  source: (ending: AbortSignal) => AsyncGenerator<RegistryChange>,
): AsyncGenerator<RegistryChange> {
  const ending = new AbortController()
  const end = () => ending.abort()
  const signals = signal ? [signal, closed] : [closed]
  for (const each of signals) each.addEventListener('abort', end)
  if (signals.some(({ aborted }) => aborted)) end()
  try {
    yield* source(ending.signal)
  } finally {
    for (const each of signals) each.removeEventListener('abort', end)
  }
}

async function* read(entries: EntryStore, begin: Promise<number>, ending: AbortSignal): AsyncGenerator<RegistryChange> {
  let after = await begin
  while (!ending.aborted) {
    const { changes, latest } = await entries.changes(after, atOnce)
    if (!changes) {
      yield { number: latest, type: 'reset' }
      after = latest
      continue
    }
    for (const change of changes) {
      if (ending.aborted) return
      yield change
      after = change.number
    }
    if (changes.length === 0) await entries.wait(after, ending)
  }
}
