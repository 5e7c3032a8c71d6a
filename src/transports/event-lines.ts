import type { RequestOf, ServerDialect, StreamOperation } from '../dialects/dialect.ts'
import { oneLine } from '../http/sse.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { JsonObject } from '../protocol/model.ts'

export interface LinesOptions {
  readonly dialect: ServerDialect
  readonly request: RequestOf<StreamOperation>
  /** Makes another object of what the dialect says. */
  readonly rewrite?: ((wire: JsonObject) => JsonObject) | undefined
}

/** What a dialect says of an event, each object as JSON on one line. */
export function linesOf(event: StreamEvent, { dialect, request, rewrite }: LinesOptions): readonly string[] {
  const isShared = dialect.tellsAllAlike && !rewrite && event.type === 'artifact'
  if (!isShared) return dialect.encodeEvent(event, request).map((wire) => toLine(rewrite ? rewrite(wire) : wire))
  const known = recent.find((written) => written.dialect === dialect && isSame(written.event, event))
  if (known) return known.lines
  const lines = dialect.encodeEvent(event, request).map(toLine)
  if (isWorthKeeping(lines)) recent[next++ % kept] = { event, dialect, lines }
  return lines
}

type Chunk = Extract<StreamEvent, { readonly type: 'artifact' }>

interface Written {
  readonly event: Chunk
  readonly dialect: ServerDialect
  readonly lines: readonly string[]
}

/**
 * Long chunks are written once for all who read them: readers of one task go through it nearly side by side, so that
 * the last few are enough.
 */
const kept = 8
const recent: Written[] = []
let next = 0

/** Each reader gets an object of its own, in which the log put the same artifact. */
function isSame(one: Chunk, other: Chunk): boolean {
  return one.artifact === other.artifact && one.generation === other.generation && one.taskId === other.taskId
}

/** Shorter ones are written faster than they are found; and giants are not held longer than they must be. */
function isWorthKeeping([line = '', ...more]: readonly string[]): boolean {
  return more.length === 0 && line.length >= 1_024 && line.length <= 2 ** 18
}

function toLine(wire: JsonObject): string {
  return oneLine(JSON.stringify(wire))
}
