import type { StreamItem } from 'parley-a2a/operator'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { connection, reconnections } from './connection.ts'
import { logins } from './session.ts'

/** Data of the server: while it is read again, and after that failed, the last value stays. */
export interface Resource<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

/**
 * Reads data when the component appears, when one of `inputs` changes, and when the server is reachable again or the
 * person has logged in again. A late answer to an earlier request is dropped.
 */
export function useResource<T>(read: () => Promise<T>, inputs: readonly unknown[]): Resource<T> {
  const key = JSON.stringify(inputs)
  const [state, setState] = useState<State<T>>({ key, value: undefined, error: undefined, isLoading: true })
  const [count, setCount] = useState(0)
  const reader = useRef(read)
  reader.current = read
  const attempt = `${reconnections.value} ${logins.value} ${count}`
  // A new attempt reads again
  useEffect(() => {
    let isCurrent = true
    setState((old) => ({ ...(old.key === key ? old : empty), key, isLoading: true }))
    const finish = (result: Partial<State<T>>) => {
      if (isCurrent) setState((old) => ({ ...old, error: undefined, ...result, isLoading: false }))
    }
    reader.current().then(
      (value) => finish({ value }),
      (error) => finish({ error }),
    )
    return () => {
      isCurrent = false
    }
  }, [key, attempt])
  const reload = useCallback(() => setCount((old) => old + 1), [])
  return { ...(state.key === key ? state : { ...empty, isLoading: true }), reload }
}

interface State<T> {
  readonly key: string
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

const empty = { value: undefined, error: undefined }

/**
 * Reads a stream of the server while the component is shown, and opens it again after the last event when it breaks.
 * `open` gets the position of the last event.
 */
export function useStream<T>(
  open: (signal: AbortSignal, last: string | undefined) => AsyncGenerator<StreamItem<T>>,
  onItem: (value: T) => void,
  inputs: readonly unknown[],
): void {
  const current = useRef({ open, onItem })
  current.current = { open, onItem }
  const key = JSON.stringify(inputs)
  const login = logins.value
  const reconnection = reconnections.value
  const last = useRef<{ readonly key: string; readonly id: string } | undefined>(undefined)
  // A new login and a server that is reachable again open the stream again
  useEffect(() => {
    const abort = new AbortController()
    const position = last.current?.key === key ? last.current.id : undefined
    readForever(
      abort.signal,
      position,
      () => current.current,
      (id) => {
        last.current = { key, id }
      },
    )
    return () => abort.abort()
  }, [key, login, reconnection])
}

interface StreamReader<T> {
  readonly open: (signal: AbortSignal, last: string | undefined) => AsyncGenerator<StreamItem<T>>
  readonly onItem: (value: T) => void
}

async function readForever<T>(
  signal: AbortSignal,
  position: string | undefined,
  reader: () => StreamReader<T>,
  onPosition: (id: string) => void,
): Promise<void> {
  let last = position
  for (let delay = 500; !signal.aborted; delay = Math.min(delay * 2, 10_000)) {
    try {
      for await (const { id, value } of reader().open(signal, last)) {
        last = id ?? last
        if (id !== undefined) onPosition(id)
        delay = 250
        reader().onItem(value)
      }
    } catch {
      // The watched fetch shows the lost connection or the expired session.
    }
    if (signal.aborted) return
    await nextTry(connection.value === 'online' ? delay : 1_000, signal)
  }
}

function nextTry(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
