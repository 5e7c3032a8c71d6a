/** The word that `text` was probably meant to be, or nothing if none is near. */
export function closest(text: string, words: readonly string[]): string | undefined {
  // A longer text is no typing error, and its distances would cost whoever must compute them.
  if (text.length > 64) return undefined
  let best: string | undefined
  let least = Infinity
  for (const word of words) {
    const distance = distanceOf(text.toLowerCase(), word.toLowerCase())
    if (distance < least && distance <= word.length / 3) {
      best = word
      least = distance
    }
  }
  return best
}

/** Levenshtein: how many characters must be put in, taken out or changed. */
function distanceOf(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const changed = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      current.push(Math.min(changed, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    above = current
  }
  return above[to.length] ?? 0
}
