/** Of questions, how many entries answer them: counted once, until something changes. */
export interface StableCounts {
  get(question: string, at: number): number | undefined
  set(question: string, at: number, total: number): void
}

/** So many questions are remembered. */
const most = 100

/** `at` is the number of the last change, read before it was counted. */
export function createStableCounts(): StableCounts {
  const counts = new Map<string, number>()
  let asOf = -1

  function moveTo(at: number): void {
    if (at === asOf) return
    counts.clear()
    asOf = at
  }

  return {
    get(question, at) {
      moveTo(at)
      return counts.get(question)
    },
    set(question, at, total) {
      if (at !== asOf) return
      if (counts.size >= most) counts.clear()
      counts.set(question, total)
    },
  }
}
