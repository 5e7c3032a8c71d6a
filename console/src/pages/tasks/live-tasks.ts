import type { TaskKey, TaskQuery, TaskRow, TaskRows } from 'parley-a2a/operator'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { reconnections } from '../../api/connection.ts'
import { operator } from '../../api/operator.ts'
import { logins } from '../../api/session.ts'
import { useStream } from '../../api/use-resource.ts'

const pageSize = 100

/** More rows than a person scrolls through. A search finds the others. */
const maxRows = 200_000

export interface LiveTasks {
  readonly rows: readonly TaskRow[]
  /** How many tasks match, counted by the server up to a limit. */
  readonly total: number
  /** Agents whose tasks are not all listed or counted, and why. */
  readonly incomplete: NonNullable<TaskRows['incomplete']>
  /** New tasks that are not shown yet, because a person reads the list. */
  readonly waiting: number
  readonly isLoading: boolean
  /** Whether the rows are those of earlier filters. */
  readonly isStale: boolean
  readonly error: unknown
  /** Where the list was scrolled to before a person came back to it, in pixels. */
  readonly offset: number
  loadMore(): void
  reload(): void
  showWaiting(): void
}

/** How a person uses the list at the moment. */
export interface Reader {
  /** What shows that a person reads: new tasks wait then, because the list would move. */
  readonly signs: Set<'pointer' | 'focus' | 'scroll'>
  /** How far the list is scrolled, in pixels. */
  offset: number
}

export const keyOf = ({ agent, taskId }: TaskKey) => `${agent}/${taskId}`

/** The list that was shown last. A person who comes back finds it as it was. */
let left: { readonly inputs: string; readonly state: State; readonly offset: number } | undefined

/**
 * A list of tasks that loads further pages on demand and follows changes. A task that changes stays where it is; a new
 * one comes first, or waits while a person reads the list. With `isBack`, it is the list that the person has left.
 */
export function useLiveTasks(query: TaskQuery, reader: { readonly current: Reader }, isBack: boolean): LiveTasks {
  const inputs = JSON.stringify(query)
  const [restored] = useState(() => (isBack && left?.inputs === inputs ? left : undefined))
  const [state, setState] = useState<State>(restored?.state ?? initial)
  const [count, setCount] = useState(0)
  const current = useRef(state)
  current.current = state
  const attempt = `${reconnections.value} ${logins.value} ${count}`
  const firstAttempt = useRef(attempt)

  const load = useCallback(
    async (cursor: string | undefined, isCurrent: () => boolean) => {
      const isFirst = cursor === undefined
      setState((old) => ({ ...old, isLoading: true, ...(isFirst && { next: undefined, early: [] }) }))
      try {
        const page = await operator.tasks({
          ...(JSON.parse(inputs) as TaskQuery),
          limit: pageSize,
          ...(cursor !== undefined && { cursor }),
        })
        if (!isCurrent()) return
        setState((old) => {
          const tasks = new Map(isFirst ? [] : old.tasks)
          for (const task of page.tasks) tasks.set(keyOf(task), task)
          const waiting = isFirst ? [] : old.waiting.filter((task) => !tasks.has(keyOf(task)))
          const { next, total, incomplete = [] } = page
          const state = {
            tasks,
            waiting,
            inputs,
            next,
            total,
            incomplete,
            isLoading: false,
            error: undefined,
            early: undefined,
          }
          return withTasks(state, old.early ?? [], false)
        })
      } catch (error) {
        // Tasks of other filters are not shown with this error.
        if (isCurrent()) setState((old) => ({ ...(old.inputs === inputs ? old : initial), isLoading: false, error }))
      }
    },
    [inputs],
  )

  const collect = useBatches<TaskRow>(
    (tasks) => setState((old) => withChanges(old, tasks, inputs, reader.current.signs.size > 0)),
    inputs,
  )

  // A new attempt reads the first page again
  useEffect(() => {
    let isCurrent = true
    if (restored?.inputs === inputs && attempt === firstAttempt.current) {
      // What has changed meanwhile
      operator.tasks({ ...query, limit: pageSize }).then(
        (page) => isCurrent && page.tasks.forEach(collect),
        () => {}, // the stream shows that the server is away
      )
    } else load(undefined, () => isCurrent)
    return () => {
      isCurrent = false
    }
  }, [load, attempt])

  const reload = useCallback(() => setCount((old) => old + 1), [])
  useStream(
    (signal, last) => operator.taskChanges(JSON.parse(inputs) as TaskQuery, signal, last),
    (change) => {
      if (change.type === 'reset') reload()
      else collect(change.task)
    },
    [inputs],
  )

  const loadMore = useCallback(() => {
    const { next, isLoading, tasks } = current.current
    if (next === undefined || isLoading || tasks.size >= maxRows) return
    load(next, () => current.current.next === next)
  }, [load])

  useEffect(
    () => () => {
      const state = current.current
      if (state.inputs === inputs)
        left = { inputs, state: { ...state, isLoading: false }, offset: reader.current.offset }
    },
    [inputs],
  )

  const showWaiting = useCallback(() => setState((old) => withTasks({ ...old, waiting: [] }, old.waiting, false)), [])
  const rows = useMemo(() => [...state.tasks.values()], [state.tasks])
  const { total, incomplete, isLoading, error } = state
  const isStale = state.inputs !== inputs && rows.length > 0
  const offset = restored?.inputs === inputs ? restored.offset : 0
  const waiting = state.waiting.length
  return { rows, total, incomplete, waiting, isLoading, isStale, error, offset, loadMore, reload, showWaiting }
}

interface State {
  /** In the order of the list. */
  readonly tasks: ReadonlyMap<string, TaskRow>
  /** New tasks that are not in the list yet, newest first. */
  readonly waiting: readonly TaskRow[]
  /** The filters of these tasks. Undefined before the first page is there. */
  readonly inputs: string | undefined
  /** Changes that arrive while the first page is loaded. */
  readonly early: readonly TaskRow[] | undefined
  readonly next: string | undefined
  readonly total: number
  readonly incomplete: NonNullable<TaskRows['incomplete']>
  readonly isLoading: boolean
  readonly error: unknown
}

const initial: State = {
  tasks: new Map(),
  waiting: [],
  inputs: undefined,
  early: undefined,
  next: undefined,
  total: 0,
  incomplete: [],
  isLoading: true,
  error: undefined,
}

/** Changes are applied to a list that is loaded, or wait until it is. */
function withChanges(state: State, changed: readonly TaskRow[], inputs: string, isReading: boolean): State {
  if (state.early) return { ...state, early: [...state.early, ...changed] }
  return state.inputs === inputs ? withTasks(state, changed, isReading) : state
}

/**
 * The tasks that changed, the newest first, are listed where they were. Tasks that were not listed come first, or wait
 * while a person reads.
 */
function withTasks(state: State, changed: readonly TaskRow[], isReading: boolean): State {
  if (changed.length === 0) return state
  const oldest = state.next === undefined ? 0 : ([...state.tasks.values()].at(-1)?.changed ?? 0)
  // Tasks that are older than the last one of the list come with a later page.
  const added = changed.filter((task) => !state.tasks.has(keyOf(task)) && task.changed >= oldest)
  const shown = isReading ? [] : added
  const tasks = new Map([...shown.map((task) => [keyOf(task), task] as const), ...state.tasks])
  for (const task of changed) {
    const listed = tasks.get(keyOf(task))
    if (listed && task.events >= listed.events) tasks.set(keyOf(task), task)
  }
  const held = new Map([...(isReading ? added : []), ...state.waiting].map((task) => [keyOf(task), task]))
  const waiting = [...held.values()].filter((task) => !tasks.has(keyOf(task)))
  return { ...state, tasks, waiting, total: state.total + tasks.size - state.tasks.size }
}

/** Milliseconds for which changes are collected: applying them costs time in a list of 100,000 tasks. */
const batchTime = 50

/** Collects items and applies them together. Those of earlier `inputs` are dropped. */
function useBatches<T>(apply: (items: readonly T[]) => void, inputs: string): (item: T) => void {
  const current = useRef(apply)
  current.current = apply
  const [collect, stop] = useMemo(() => {
    let items: T[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = () => {
      timer = undefined
      current.current(items)
      items = []
    }
    const add = (item: T) => {
      items.push(item)
      timer ??= setTimeout(flush, batchTime)
    }
    return [add, () => clearTimeout(timer)] as const
  }, [inputs])
  useEffect(() => stop, [stop])
  return collect
}
