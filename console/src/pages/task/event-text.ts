import type { EventRow, TaskDetail } from 'parley-a2a/operator'

type TaskEvent = NonNullable<EventRow['event']>
type Part = TaskDetail['task']['artifacts'][number]['parts'][number]

const maxLength = 160

/** What an event says, in one line. Chunks name their artifact by its id only, so its name comes from the task. */
export function describeEvent({ event, chunks }: EventRow, { task }: Pick<TaskDetail, 'task'>): string {
  if (!event) return 'A large event'
  switch (event.type) {
    case 'message':
      return shorten(`Message: ${textOf(event.message.parts)}`)
    case 'cancel':
      return 'The caller requested to cancel the task'
    case 'reply':
      return shorten(event.message ? `Reply: ${textOf(event.message.parts)}` : 'Reply: an error')
    case 'status': {
      const { state, message } = event.status
      return shorten(message ? `${state}: ${textOf(message.parts)}` : state)
    }
    case 'artifact': {
      const { artifact, append, lastChunk } = event
      const { name: known } = task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId) ?? {}
      // Ids are long, and the text is what differs.
      const name = artifact.name ?? known ?? artifact.artifactId.slice(0, 8)
      if (chunks) return shorten(`${chunks.count.toLocaleString()} chunks of ${name}: ${chunks.text}`)
      const kind = append ? `Chunk of ${name}` : `Artifact ${name}`
      return shorten(`${kind}${lastChunk ? ', the last' : ''}: ${textOf(artifact.parts)}`)
    }
    case 'journal':
      return describeEntry(event)
  }
}

/** The text of parts; other parts are named by their kind. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if ('text' in part) return part.text
      if ('data' in part) return JSON.stringify(part.data)
      return `[${part.filename ?? part.mediaType ?? 'file'}]`
    })
    .join(' ')
}

function describeEntry({ entry }: Extract<TaskEvent, { type: 'journal' }>): string {
  switch (entry.type) {
    case 'step':
      return shorten(`Step ${entry.step}, call ${entry.call}: ${entry.failure ? entry.failure.message : 'stored'}`)
    case 'attempt':
      return `Attempt ${entry.attempt} at message ${entry.message}`
    case 'paused':
      return 'The turn waits without a process'
    case 'handed-over':
      return 'The process handed the turn over'
    case 'rested':
      return 'The turn ended'
    case 'unanswered':
      return `Question ${entry.question} was not answered in time`
  }
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line
}
