/**
 * Joins what is ready together into one chunk: after an item it goes on pulling until the turn of the event loop is
 * over or the chunk is `limit` characters long. Beyond the chunk at most one item is pulled ahead.
 */
export async function* joinReady(source: AsyncIterator<string>, limit: number): AsyncGenerator<string> {
  /** Pulled, but not part of a chunk yet. Its end or failure is met when the next chunk begins. */
  let pending: Promise<IteratorResult<string>> | undefined
  let chunk = ''
  let open = false

  const pullMore = (): void => {
    pending = source.next()
    pending.then(append, ignore)
  }
  const append = ({ done, value }: IteratorResult<string>): void => {
    if (!open || done) return
    chunk += value
    pending = undefined
    if (chunk.length < limit) pullMore()
  }

  for (;;) {
    const first: IteratorResult<string> = await (pending ?? source.next())
    pending = undefined
    if (first.done) return
    chunk = first.value
    open = true
    if (chunk.length < limit) pullMore()
    // Also when the chunk is full: a source that is always ready must not keep everybody else from their turn.
    await endOfTurn()
    open = false
    yield chunk
  }
}

const defer: (run: () => void) => unknown = globalThis.setImmediate ?? ((run) => setTimeout(run, 0))

function endOfTurn(): Promise<void> {
  return new Promise(defer)
}

function ignore(): void {}
