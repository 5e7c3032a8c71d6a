/** Returns the word that `text` was probably meant to be, or undefined if none is near. */
export function closest(text: string, words: readonly string[]): string | undefined {
  // A longer text is no typing error, and computing its distances would cost the server time.
  if (text.length > 64) return undefined
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const word of words) {
    const distance = editDistance(text.toLowerCase(), word.toLowerCase())
    if (distance < least && distance <= Math.max(2, word.length / 3)) {
      best = word
      least = distance
    }
  }
  return best
}

/** Optimal string alignment: insertions, deletions, changes and swaps of neighbouring characters count one each. */
function editDistance(from: string, to: string): number {
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const changed = (last[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      let distance = Math.min(changed, (last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1)
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (isSwap) distance = Math.min(distance, (beforeLast[column - 2] ?? 0) + 1)
      current.push(distance)
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}
