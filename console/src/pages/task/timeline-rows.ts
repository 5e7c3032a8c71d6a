import { type EventPage, type EventQuery, type EventRow, mergeChunks, type TaskKey } from 'parley-a2a/operator'
import { useEffect, useMemo, useReducer } from 'preact/hooks'
import { reconnections } from '../../api/connection.ts'
import { operator } from '../../api/operator.ts'
import { logins } from '../../api/session.ts'

/** Rows that are loaded before a person scrolls, and that each further scroll adds. */
const firstRows = 60
const moreRows = 200

/** Milliseconds for which new events are collected before they are requested. */
const collectTime = 200

/** Rows that are shown. A filter finds the others. */
const maxRows = 100_000

export type TimelineQuery = Pick<EventQuery, 'type' | 'text' | 'group' | 'order'>

export interface TimelineRows {
  readonly rows: readonly EventRow[]
  /** Undefined until every event was read once: how many were read so far. */
  readonly scanned: number | undefined
  readonly isLoading: boolean
  readonly error: unknown
  loadMore(): void
}

/**
 * The events of a task that match, or with their chunks grouped. A request reads a part of a long task: the rows grow until
 * the window is full, and further when a person scrolls. Events up to `generation` are added as they are stored. Without a
 * query, nothing is read.
 */
export function useTimelineRows(key: TaskKey, query: TimelineQuery | undefined, generation: number): TimelineRows {
  const inputs = JSON.stringify([key.agent, key.taskId, query, reconnections.value, logins.value])
  const [, update] = useReducer((version: number) => version + 1, 0)
  const loader = useMemo(() => createLoader(key, query, () => update(undefined)), [inputs])
  useEffect(() => loader.stop, [loader])
  useEffect(() => loader.grow(generation), [loader, generation])
  return { ...loader.state(), loadMore: loader.loadMore }
}

interface State {
  readonly rows: readonly EventRow[]
  /** Where the next page begins. Undefined before the first page and after the last. */
  readonly next: number | undefined
  /** The last generation that the rows cover at their newest end. Undefined before the first page. */
  readonly seen: number | undefined
  readonly isLoading: boolean
  readonly error: unknown
}

function createLoader(key: TaskKey, query: TimelineQuery | undefined, onChange: () => void) {
  const isNewestFirst = query?.order === 'newest'
  let state: State = { rows: [], next: undefined, seen: undefined, isLoading: query !== undefined, error: undefined }
  let [wanted, generation] = [firstRows, 0]
  let [isRunning, isStopped] = [false, false]

  function set(change: Partial<State>) {
    state = { ...state, ...change }
    if (!isStopped) onChange()
  }

  function isEarly(): boolean {
    return (state.seen === undefined || state.next !== undefined) && state.rows.length < Math.min(wanted, maxRows)
  }

  /** Whether new events belong to the rows. If the oldest come first, they come with the last page. */
  function isBehind(): boolean {
    return state.seen !== undefined && generation > state.seen && (isNewestFirst || state.next === undefined)
  }

  async function run(): Promise<void> {
    if (isRunning || query === undefined) return
    isRunning = true
    try {
      while (!isStopped && (isEarly() || isBehind())) {
        set({ isLoading: true })
        await (isEarly() ? readPage() : readNew())
      }
      set({ isLoading: false })
    } catch (error) {
      set({ isLoading: false, error })
    }
    isRunning = false
  }

  async function readPage(): Promise<void> {
    const from = state.next
    const page = await operator.events(key, {
      ...query,
      limit: moreRows,
      ...(from !== undefined && (isNewestFirst ? { before: from } : { after: from })),
    })
    set({
      rows: joined(state.rows, page.events, query),
      next: page.next,
      seen: isNewestFirst ? (state.seen ?? page.generation) : (page.next ?? page.generation),
    })
  }

  async function readNew(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, collectTime))
    const { order: _, ...oldestFirst } = query ?? {}
    const after = state.seen ?? 0
    const page: EventPage = await operator.events(key, { ...oldestFirst, after, limit: moreRows })
    set({
      rows: isNewestFirst
        ? joined(page.events.toReversed(), state.rows, query)
        : joined(state.rows, page.events, query),
      seen: page.next ?? page.generation,
    })
  }

  return {
    state: () => ({
      ...state,
      scanned: state.seen === undefined || state.next !== undefined ? (state.next ?? 0) : undefined,
    }),
    grow(last: number) {
      generation = last
      run()
    },
    loadMore() {
      wanted = state.rows.length + moreRows
      run()
    },
    stop() {
      isStopped = true
    },
  }
}

/** Two lists of rows in the order of the reader. Chunks of one artifact at their border become one row. */
function joined(
  one: readonly EventRow[],
  other: readonly EventRow[],
  { group, order }: TimelineQuery = {},
): readonly EventRow[] {
  const [last, first] = [one.at(-1), other[0]]
  const [before, after] = order === 'newest' ? [first, last] : [last, first]
  const merged = before && after && group === 'chunks' ? mergeChunks(before, after) : undefined
  return merged ? [...one.slice(0, -1), merged, ...other.slice(1)] : [...one, ...other]
}
