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
  readonly isLoading: boolean
  readonly error: unknown
  loadMore(): void
  reload(): void
}

export const keyOf = ({ agent, taskId }: TaskKey) => `${agent}/${taskId}`

/**
 * A list of tasks that loads further pages on demand and follows changes. A task that changes stays where it is; a new
 * one comes first.
 */
export function useLiveTasks(query: TaskQuery): LiveTasks {
  const inputs = JSON.stringify(query)
  const [state, setState] = useState<State>(initial)
  const [count, setCount] = useState(0)
  const current = useRef(state)
  current.current = state
  const attempt = `${reconnections.value} ${logins.value} ${count}`

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
          const { next, total, incomplete = [] } = page
          const state = { tasks, inputs, next, total, incomplete, isLoading: false, error: undefined, early: undefined }
          return withTasks(state, old.early ?? [])
        })
      } catch (error) {
        // Tasks of other filters are not shown with this error.
        if (isCurrent()) setState((old) => ({ ...(old.inputs === inputs ? old : initial), isLoading: false, error }))
      }
    },
    [inputs],
  )

  // A new attempt reads the first page again
  useEffect(() => {
    let isCurrent = true
    load(undefined, () => isCurrent)
    return () => {
      isCurrent = false
    }
  }, [load, attempt])

  const reload = useCallback(() => setCount((old) => old + 1), [])
  const collect = useBatches<TaskRow>((tasks) => setState((old) => withChanges(old, tasks, inputs)), inputs)
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

  const rows = useMemo(() => [...state.tasks.values()], [state.tasks])
  const { total, incomplete } = state
  return { rows, total, incomplete, isLoading: state.isLoading, error: state.error, loadMore, reload }
}

interface State {
  /** In the order of the list. */
  readonly tasks: ReadonlyMap<string, TaskRow>
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
  inputs: undefined,
  early: undefined,
  next: undefined,
  total: 0,
  incomplete: [],
  isLoading: true,
  error: undefined,
}

/** Changes are applied to a list that is loaded, or wait until it is. */
function withChanges(state: State, changed: readonly TaskRow[], inputs: string): State {
  if (state.early) return { ...state, early: [...state.early, ...changed] }
  return state.inputs === inputs ? withTasks(state, changed) : state
}

/** The tasks that changed, the newest first, are listed where they were. Tasks that were not listed come first. */
function withTasks(state: State, changed: readonly TaskRow[]): State {
  if (changed.length === 0) return state
  const oldest = state.next === undefined ? 0 : ([...state.tasks.values()].at(-1)?.changed ?? 0)
  // Tasks that are older than the last one of the list come with a later page.
  const added = changed.filter((task) => !state.tasks.has(keyOf(task)) && task.changed >= oldest)
  const tasks = new Map([...added.map((task) => [keyOf(task), task] as const), ...state.tasks])
  for (const task of changed) {
    const listed = tasks.get(keyOf(task))
    if (listed && task.events >= listed.events) tasks.set(keyOf(task), task)
  }
  return { ...state, tasks, total: state.total + tasks.size - state.tasks.size }
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
