import { systemTimers, type Timers } from './timers.ts'

export interface WithFirstOptions<T> {
  /** Milliseconds after which there is a stream although nothing has come. */
  readonly patience: number
  /** What a failure before the first item is told as, once there is a stream. Nothing follows it. */
  readonly late: (error: unknown) => T
  readonly timers?: Timers
}

/**
 * Waits for the first item, so that a failure before it can still be answered as an error and not as a broken stream.
 * What comes back starts with that item.
 */
export async function withFirst<T>(
  source: AsyncIterable<T>,
  { patience, late, timers = systemTimers }: WithFirstOptions<T>,
): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]()
  const coming = iterator.next()
  let first: Promise<IteratorResult<T>> | undefined = (await isSettled(coming, patience, timers))
    ? Promise.resolve(await coming)
    : coming.catch((error): IteratorResult<T> => ({ done: false, value: late(error) }))

  // Not a generator: `return` on one that was never started would not reach the source.
  const rest: AsyncIterableIterator<T> = {
    next() {
      const result = first ?? iterator.next()
      first = undefined
      return result
    },
    async return(value) {
      first = undefined
      return (await iterator.return?.(value)) ?? { done: true, value }
    },
    [Symbol.asyncIterator]: () => rest,
  }
  return rest
}

/** Whether it is so within that many milliseconds. */
async function isSettled(promise: Promise<unknown>, milliseconds: number, timers: Timers): Promise<boolean> {
  const { promise: settled, resolve } = Promise.withResolvers<boolean>()
  const timer = timers.setTimeout(() => resolve(false), milliseconds)
  const settle = () => resolve(true)
  promise.then(settle, settle)
  const result = await settled
  timers.clearTimeout(timer)
  return result
}
