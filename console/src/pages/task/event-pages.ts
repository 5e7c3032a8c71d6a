import type { EventRow, TaskKey } from 'parley-a2a/operator'
import { useCallback, useReducer, useRef } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { useStream } from '../../api/use-resource.ts'

/** Events of one request, and the pages that are kept: a task may have hundreds of thousands of events. */
const pageSize = 200
const maxPages = 50

/** Milliseconds until a page that could not be loaded is requested again. */
const retryAfter = 1_000

export interface EventPages {
  /** The generation of the last event. */
  readonly generation: number
  /** An event, if it is loaded. Otherwise its page is requested, and the component renders again when it is there. */
  eventAt(generation: number): EventRow | undefined
  readonly error: unknown
}

/** The events of a task, loaded by page where they are looked at, and followed live. */
export function useEventPages(key: TaskKey, lastGeneration: number): EventPages {
  const [, update] = useReducer((version: number) => version + 1, 0)
  const store = useRef<Store>(newStore(key, lastGeneration))
  if (!isSame(store.current.key, key)) store.current = newStore(key, lastGeneration)
  const current = store.current
  current.generation = Math.max(current.generation, lastGeneration)

  useStream(
    (signal) => operator.eventChanges(key, store.current.generation, signal),
    (event) => {
      const { pages } = store.current
      store.current.generation = Math.max(store.current.generation, event.generation)
      const page = pages.get(pageOf(event.generation))
      if (Array.isArray(page)) page[indexOf(event.generation)] = event
      update(undefined)
    },
    [key.agent, key.taskId],
  )

  const eventAt = useCallback(
    (generation: number) => {
      const number = pageOf(generation)
      const page = current.pages.get(number)
      if (Array.isArray(page) && page[indexOf(generation)]) return page[indexOf(generation)]
      if (page !== 'loading' && page !== 'failed') load(current, number, () => update(undefined))
      return undefined
    },
    [current],
  )
  return { generation: current.generation, eventAt, error: current.error }
}

type EventPage = (EventRow | undefined)[]

interface Store {
  readonly key: TaskKey
  /** By number, the least recently loaded first. */
  readonly pages: Map<number, EventPage | 'loading' | 'failed'>
  generation: number
  error: unknown
}

const newStore = (key: TaskKey, generation: number): Store => ({ key, pages: new Map(), generation, error: undefined })
const isSame = (one: TaskKey, other: TaskKey) => one.agent === other.agent && one.taskId === other.taskId
const pageOf = (generation: number) => Math.floor((generation - 1) / pageSize)
const indexOf = (generation: number) => (generation - 1) % pageSize

async function load(store: Store, number: number, onChange: () => void): Promise<void> {
  const { pages } = store
  pages.delete(number)
  pages.set(number, 'loading')
  const [oldest] = pages.keys()
  if (pages.size > maxPages && oldest !== undefined) pages.delete(oldest)
  try {
    pages.set(number, await readPage(store, number))
    store.error = undefined
  } catch (error) {
    store.error = error
    pages.set(number, 'failed')
    setTimeout(() => {
      if (pages.get(number) === 'failed') pages.delete(number)
      onChange()
    }, retryAfter)
  }
  onChange()
}

/** The server shortens a page with large events, so that several requests may be needed. */
async function readPage(store: Store, number: number): Promise<EventPage> {
  const page: EventPage = []
  const end = Math.min((number + 1) * pageSize, store.generation)
  for (let after = number * pageSize; after < end; ) {
    const { events, generation } = await operator.events(store.key, { after, limit: (number + 1) * pageSize - after })
    for (const event of events) page[indexOf(event.generation)] = event
    store.generation = Math.max(store.generation, generation)
    const last = events.at(-1)
    if (!last) throw new Error(`The server has no event ${after + 1} of this task.`)
    after = last.generation
  }
  return page
}
