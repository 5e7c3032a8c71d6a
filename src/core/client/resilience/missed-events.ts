import type { StreamEvent } from '../../protocol/events.ts'
import type { Part, Task } from '../../protocol/model.ts'
import { createTaskDiff, digestOf } from './task-diff.ts'

/**
 * The events of a subscription, beginning with `task`, which was read before. The task is emitted at once: before 1.0, a
 * subscription has only what follows, and may be silent for long. The changes until the subscription was open come
 * next. A reader that leaves early has to abort the subscription.
 */
export async function* fromTask(
  task: Task,
  events: AsyncGenerator<StreamEvent>,
  getTask: () => Promise<Task>,
): AsyncGenerator<StreamEvent> {
  const first = events.next()
  first.catch(() => {})
  try {
    yield { type: 'task', task, isLast: false }
    let take: Take | undefined
    for (let result = await first; !result.done; result = await events.next()) {
      const event = result.value
      take ??= await takeFor(event, task, getTask)
      for (const next of take(event)) {
        yield next
        if (next.isLast) return
      }
    }
  } finally {
    // Not awaited: a subscription whose next event is still awaited ends when it is aborted.
    events.return(undefined).catch(() => {})
  }
}

async function takeFor(first: StreamEvent, before: Task, getTask: () => Promise<Task>): Promise<Take> {
  // The subscription is open now. Whatever preceded its first event, and this event itself, is in the task.
  if (first.type === 'status' || first.type === 'artifact') return takeAfter(before, await getTask())
  return (event) => (event === first && event.type === 'task' ? changesBetween(before, event.task) : [event])
}

function changesBetween(before: Task, current: Task): readonly StreamEvent[] {
  const diff = createTaskDiff()
  diff.record({ type: 'task', task: before, isLast: false })
  return diff.missingEvents(current)
}

/** Returns the events that the reader has not seen. */
type Take = (event: StreamEvent) => readonly StreamEvent[]

function takeAfter(before: Task, current: Task): Take {
  const diff = createTaskDiff()
  diff.record({ type: 'task', task: before, isLast: false })
  const missed = diff.missingEvents(current)
  /** What the reader has got from the task, and will get again from the stream. */
  const repeated = new Map<string, Repetition>()
  for (const event of missed) {
    if (event.type === 'artifact') repeated.set(event.artifact.artifactId, createRepetition(event.artifact.parts))
  }
  let isFirst = true

  function emit(event: StreamEvent): readonly StreamEvent[] {
    const change = diff.changeIn(event)
    if (change) diff.record(change)
    return change ? [change] : []
  }

  function withoutRepetition(event: StreamEvent): readonly StreamEvent[] {
    if (event.type !== 'artifact' || !event.append) return emit(event)
    const { artifact } = event
    const isRepeated = repeated.get(artifact.artifactId)
    const parts = isRepeated ? artifact.parts.filter((part) => !isRepeated(part)) : artifact.parts
    return parts.length === 0 ? [] : emit({ ...event, artifact: { ...artifact, parts } })
  }

  return (event) => {
    if (!isFirst) return withoutRepetition(event)
    isFirst = false
    const artifacts = missed.filter(({ type }) => type === 'artifact').flatMap(emit)
    // The status of the task may be a later one than that of the first event.
    const statuses = missed.filter(({ type }) => type === 'status')
    return [...artifacts, ...withoutRepetition(event), ...statuses.flatMap(emit)]
  }
}

/** Whether the next part of a stream is among the repeated ones, whose order is that of the stream. */
type Repetition = (part: Part) => boolean

function createRepetition(parts: readonly Part[]): Repetition {
  let digests = parts.flatMap((part) => ('text' in part ? [] : [digestOf(part)]))
  let isTextRepeated = createTextRepetition(parts.flatMap((part) => ('text' in part ? [part.text] : [])).join(''))

  return (part) => {
    if ('text' in part) {
      const isRepeated = isTextRepeated(part.text)
      // The first new text ends the repetition.
      if (!isRepeated) isTextRepeated = () => false
      return isRepeated
    }
    const index = digests.indexOf(digestOf(part))
    digests = digests.slice(index + 1)
    return index >= 0
  }
}

/** The chunks of a text follow each other, up to its end. Where they begin is unknown, so all places are tried. */
function createTextRepetition(text: string): (chunk: string) => boolean {
  let ends: readonly number[] | undefined
  return (chunk) => {
    if (ends?.includes(text.length)) return false
    const starts = ends ?? placesOf(chunk, text)
    ends = starts.filter((start) => text.startsWith(chunk, start)).map((start) => start + chunk.length)
    return ends.length > 0
  }
}

function placesOf(chunk: string, text: string): readonly number[] {
  const places: number[] = []
  for (let at = text.indexOf(chunk); at >= 0; at = text.indexOf(chunk, at + 1)) places.push(at)
  return places
}
