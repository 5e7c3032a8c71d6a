import { defined } from '../core/base/json.ts'
import type { EventChunks, EventRow } from './contract.ts'

/** Characters of grouped chunks in a row. */
const maxText = 300

/** One row for two, if the later one continues the artifact of the earlier one. Rows of several chunks can be merged, too. */
export function mergeChunks(before: EventRow, after: EventRow): EventRow | undefined {
  if (before.event?.type !== 'artifact' || after.event?.type !== 'artifact' || !after.event.append) return undefined
  if (before.event.artifact.artifactId !== after.event.artifact.artifactId) return undefined
  const [first, last] = [chunksOf(before), chunksOf(after)]
  const chunks: EventChunks = defined({
    last: last.last,
    count: first.count + last.count,
    until: last.until,
    text: (first.text + last.text).slice(0, maxText),
  })
  return { ...before, bytes: before.bytes + after.bytes, chunks }
}

function chunksOf({ chunks, generation, at, event }: EventRow): EventChunks {
  if (chunks) return chunks
  const parts = event?.type === 'artifact' ? event.artifact.parts : []
  const text = parts.map((part) => ('text' in part ? part.text : '')).join('')
  return defined({ last: generation, count: 1, until: at, text: text.slice(0, maxText) })
}
