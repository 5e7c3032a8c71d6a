/** Collects items and passes them on together, once per frame of the page, however many arrive. */
export interface FrameBatch<T> {
  add(item: T): void
  /** Passes on what is left, at once. */
  flush(): void
}

export function createFrameBatch<T>(apply: (items: readonly T[]) => void): FrameBatch<T> {
  let items: T[] = []
  let isScheduled = false
  function flush(): void {
    const batch = items
    items = []
    isScheduled = false
    if (batch.length > 0) apply(batch)
  }
  return {
    flush,
    add(item) {
      items.push(item)
      if (!isScheduled) schedule(flush)
      isScheduled = true
    },
  }
}

/** Before the next repaint; in hidden pages, which are not painted, after a moment. */
function schedule(work: () => void): void {
  if (document.hidden) setTimeout(work, 200)
  else requestAnimationFrame(work)
}
