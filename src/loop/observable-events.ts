import type { MonoTypeOperatorFunction } from 'rxjs'
import type { Subscribable } from '../core/agent/observable.ts'

/** Receives the events of `loop.invoke().subscribe()`. */
export interface EventObserver<T> {
  next?(value: T): void
  error?(error: unknown): void
  complete?(): void
}

/** A source that starts on subscription; unsubscribing stops it. An RxJS `Observable` can be made of it. */
export interface ObservableEvents<T> extends Subscribable<T> {
  subscribe(observer: EventObserver<T> | ((value: T) => void)): { unsubscribe(): void }
}

/** Creates a source from a function that starts it and returns how to stop it. */
export function createObservableEvents<T>(
  start: (observer: Required<EventObserver<T>>) => () => void,
): ObservableEvents<T> {
  return {
    subscribe(observerOrNext) {
      const observer = typeof observerOrNext === 'function' ? { next: observerOrNext } : observerOrNext
      let isClosed = false
      let stop: (() => void) | undefined
      const close = () => {
        if (isClosed) return
        isClosed = true
        stop?.()
      }
      stop = start({
        next: (value) => void (isClosed || observer.next?.(value)),
        error(error) {
          if (isClosed) return
          close()
          observer.error?.(error)
        },
        complete() {
          if (isClosed) return
          close()
          observer.complete?.()
        },
      })
      if (isClosed) stop()
      return { unsubscribe: close }
    },
  }
}

/** Passes a source through RxJS operators. Only a loop with operators loads RxJS. */
export function withOperators<T>(
  source: ObservableEvents<T>,
  operators: readonly MonoTypeOperatorFunction<T>[],
): ObservableEvents<T> {
  if (operators.length === 0) return source
  return createObservableEvents((observer) => {
    let isStopped = false
    let subscription: { unsubscribe(): void } | undefined
    loadRxjs().then(({ Observable }) => {
      if (isStopped) return
      const events = new Observable<T>((subscriber) => source.subscribe(subscriber))
      subscription = operators.reduce((piped, operator) => operator(piped), events).subscribe(observer)
    }, observer.error)
    return () => {
      isStopped = true
      subscription?.unsubscribe()
    }
  })
}

async function loadRxjs() {
  try {
    return await import('rxjs')
  } catch (cause) {
    throw new Error('createAgentLoop(): operators need RxJS, which is not installed: npm install rxjs', { cause })
  }
}
