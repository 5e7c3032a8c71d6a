/**
 * Waits for the first item, so that a failure before it can still be answered as an error and not as a broken stream.
 * What comes back starts with that item.
 */
export async function withFirst<T>(source: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]()
  let first: IteratorResult<T> | undefined = await iterator.next()

  // Not a generator: `return` on one that was never started would not reach the source.
  const rest: AsyncIterableIterator<T> = {
    next() {
      if (first === undefined) return iterator.next()
      const result = Promise.resolve(first)
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
