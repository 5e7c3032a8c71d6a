/** A promise that the test settles from outside. */
export function deferred<T = void>() {
  return Promise.withResolvers<T>()
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

/** Polls a condition until it holds. `within` is a timeout in milliseconds. */
export async function until(condition: () => boolean | Promise<boolean>, within = 5_000): Promise<void> {
  const end = Date.now() + within
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`the condition did not hold within ${within} ms`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
