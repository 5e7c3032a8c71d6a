import type { TaskEvent } from '../../core/protocol/events.ts'
import { type Part, textOf } from '../../core/protocol/model.ts'
import type { OperatorLog, OperatorTask } from '../../core/tasks/operator-log.ts'

/** Characters of a message in a row. */
const maxLine = 200

/** Requests that are cached of a log: lists are read again every second, and a first message never changes. */
const maxCached = 10_000

const cached = new WeakMap<OperatorLog, Map<string, string>>()

/** The first line of the message that began a task, which names it for people. Undefined if it says nothing. */
export async function requestOf(log: OperatorLog, task: OperatorTask): Promise<string | undefined> {
  if (task.phase === 'expired') return undefined
  if (task.request !== undefined) return firstLine(task.request)
  const requests = cached.get(log) ?? new Map<string, string>()
  cached.set(log, requests)
  let line = requests.get(task.taskId)
  if (line === undefined) {
    const [first] = await log.events(task.taskId, 0, 1)
    line = firstLine(requestIn(first?.event)) ?? ''
    requests.set(task.taskId, line)
    const [oldest] = requests.keys()
    if (requests.size > maxCached && oldest !== undefined) requests.delete(oldest)
  }
  return line === '' ? undefined : line
}

/** The text of a first message, or what it has in place of text. */
function requestIn(event: TaskEvent | undefined): string {
  if (event?.type !== 'message') return ''
  const { message } = event
  return textOf(message).trim() || message.parts.map(partText).join(' ')
}

function partText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  return `[${part.filename ?? part.mediaType ?? 'file'}]`
}

/** The first line of a text, at most 200 characters. */
export function firstLine(text: string): string | undefined {
  const [line = ''] = text.trimStart().split('\n', 1)
  return line === '' ? undefined : [...line.slice(0, 2 * maxLine)].slice(0, maxLine).join('')
}
