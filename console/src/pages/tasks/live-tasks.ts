import type { TaskKey, TaskQuery, TaskRow } from 'parley-a2a/operator'
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
      setState((old) => ({ ...(cursor === undefined ? { ...old, next: undefined } : old), isLoading: true }))
      try {
        const page = await operator.tasks({
          ...(JSON.parse(inputs) as TaskQuery),
          limit: pageSize,
          ...(cursor !== undefined && { cursor }),
        })
        if (!isCurrent()) return
        setState((old) => {
          const tasks = cursor === undefined ? new Map<string, TaskRow>() : new Map(old.tasks)
          for (const task of page.tasks) tasks.set(keyOf(task), task)
          return { tasks, next: page.next, total: page.total, isLoading: false, error: undefined }
        })
      } catch (error) {
        if (isCurrent()) setState((old) => ({ ...old, isLoading: false, error }))
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
  useStream(
    (signal, last) => operator.taskChanges(JSON.parse(inputs) as TaskQuery, signal, last),
    (change) => {
      if (change.type === 'reset') reload()
      else setState((old) => withTask(old, change.task))
    },
    [inputs],
  )

  const loadMore = useCallback(() => {
    const { next, isLoading, tasks } = current.current
    if (next === undefined || isLoading || tasks.size >= maxRows) return
    load(next, () => current.current.next === next)
  }, [load])

  const rows = useMemo(() => [...state.tasks.values()], [state.tasks])
  return { rows, total: state.total, isLoading: state.isLoading, error: state.error, loadMore, reload }
}

interface State {
  /** In the order of the list. */
  readonly tasks: ReadonlyMap<string, TaskRow>
  readonly next: string | undefined
  readonly total: number
  readonly isLoading: boolean
  readonly error: unknown
}

const initial: State = { tasks: new Map(), next: undefined, total: 0, isLoading: true, error: undefined }

function withTask(state: State, task: TaskRow): State {
  const key = keyOf(task)
  if (state.tasks.has(key)) return { ...state, tasks: new Map(state.tasks).set(key, task) }
  return { ...state, tasks: new Map([[key, task], ...state.tasks]), total: state.total + 1 }
}
