import type { TaskRowChange, Write } from '../shared/write-batches.ts'
import { array, lines } from './sql-text.ts'

/** The events of several writes as columns for a statement. `eventWrites` has the number of the write, starting at 1. */
export function eventColumns(writes: readonly Write[]) {
  return {
    // JSON contains no line breaks, so the lines need no quoting.
    events: writes.flatMap(({ batch }) => batch.rows.map(({ text }) => text)).join('\n'),
    eventWrites: array(writes.flatMap(({ batch }, index) => batch.rows.map(() => index + 1))),
  }
}

export type EventColumns = ReturnType<typeof eventColumns>

/** What the statements for several writes need of each one and of the change of its task, as columns. */
export function writeColumns(writes: readonly Write[], changes: readonly TaskRowChange[]) {
  return {
    taskIds: lines(writes.map(({ taskId }) => taskId)),
    sizes: array(writes.map(({ batch }) => batch.events.length)),
    offsets: array(eventOffsets(writes)),
    tokens: array(writes.map(({ token }) => token)),
    phases: array(changes.map(({ phase }) => phase)),
    statusGenerations: array(changes.map(({ statusAt }) => statusAt)),
    answered: array(changes.map(({ answered }) => answered)),
    changed: array(changes.map(({ changed }) => changed)),
    over: array(changes.map(({ isOver }) => isOver)),
  }
}

export type WriteColumns = ReturnType<typeof writeColumns>

export function claimColumns(writes: readonly Write[]) {
  const rows = writes.flatMap(({ claims = [] }, index) => claims.map((claim) => ({ ...claim, write: index + 1 })))
  return {
    claimWrites: array(rows.map(({ write }) => write)),
    claimKeys: lines(rows.map(({ key }) => key)),
    claimDigests: lines(rows.map(({ digest }) => digest)),
  }
}

export type ClaimColumns = ReturnType<typeof claimColumns>

/** The notification that a statement sends if it stores something. */
export interface NotificationValues {
  readonly channel: string
  readonly notification: string
}

/** For each write, the number of events in the writes before it. */
function eventOffsets(writes: readonly Write[]): readonly number[] {
  let sum = 0
  return writes.map(({ batch }) => {
    sum += batch.events.length
    return sum - batch.events.length
  })
}
