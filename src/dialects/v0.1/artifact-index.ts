/** The numbers of the artifacts in each stream that is being told. */
const streams = new WeakMap<object, Map<string, number>>()

/**
 * In 0.1 an artifact is known by its number: how many others came before it. Events are encoded one by one, and what
 * all those of a stream have in common is the request that opened it.
 */
export function indexIn(stream: object, artifactId: string): number {
  const numbers = streams.get(stream) ?? new Map<string, number>()
  streams.set(stream, numbers)
  const index = numbers.get(artifactId) ?? numbers.size
  numbers.set(artifactId, index)
  return index
}
