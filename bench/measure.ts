/** The samples of all candidates in one round. */
export type Round<Name extends string, Sample> = Readonly<Record<Name, Sample>>

/**
 * Measures all candidates in every round, in random order. Disturbances affect all candidates of a round, so compare within
 * rounds.
 */
export async function interleave<Name extends string, Sample>(
  rounds: number,
  candidates: Readonly<Record<Name, () => Promise<Sample>>>,
): Promise<readonly Round<Name, Sample>[]> {
  const measured: Round<Name, Sample>[] = []
  for (let round = 0; round < rounds; round++) {
    const samples: Partial<Record<Name, Sample>> = {}
    for (const name of shuffled(Object.keys(candidates) as Name[])) samples[name] = await candidates[name]()
    measured.push(samples as Round<Name, Sample>)
  }
  return measured
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
