import { readLimit } from '../tasks/log.ts'

/** As many as one `read` may answer, and one at least. */
export function takePage<T>(items: Iterable<T>, bytesOf: (item: T) => number): readonly T[] {
  const page: T[] = []
  let bytes = 0
  for (const item of items) {
    page.push(item)
    bytes += bytesOf(item)
    if (page.length === readLimit.events || bytes >= readLimit.bytes) break
  }
  return page
}
