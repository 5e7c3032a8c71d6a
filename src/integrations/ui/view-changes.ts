import type { Json } from '../../core/base/json.ts'
import type { ViewPart } from './task-view.ts'

/** What changed in the parts of a task, for front ends that take changes. */
export type ViewChange =
  /** What was shown since the last step is wrong: it is replaced by the changes that follow. */
  | { readonly type: 'reset' }
  | { readonly type: 'start'; readonly part: ViewPart }
  | { readonly type: 'delta'; readonly part: ViewPart; readonly delta: string }
  /** A text is complete, a tool has a new state, data is replaced, or a question is answered. */
  | { readonly type: 'update'; readonly part: ViewPart }

/** Compares the parts that are shown with those that a later view has. */
export function* changesBetween(before: readonly ViewPart[], after: readonly ViewPart[]): Generator<ViewChange> {
  const isContinued = before.every((part, index) => continues(part, after[index]))
  if (!isContinued) yield { type: 'reset' }
  const shown = isContinued ? before : []
  for (const [index, part] of after.entries()) {
    const earlier = shown[index]
    if (earlier === part) continue
    // Reasoning is complete when something follows.
    const previous = after[index - 1]
    if (!earlier && previous?.type === 'reasoning') yield { type: 'update', part: previous }
    if (!earlier) yield { type: 'start', part }
    const text = 'text' in part ? part.text : ''
    const length = earlier && 'text' in earlier ? earlier.text.length : 0
    if (text.length > length) yield { type: 'delta', part, delta: text.slice(length) }
    const isText = part.type === 'text'
    const isChanged = isText ? part.isComplete && !isComplete(earlier) : earlier !== undefined || isAhead(part)
    if (part.type !== 'reasoning' && isChanged) yield { type: 'update', part }
  }
}

function continues(part: ViewPart, next: ViewPart | undefined): boolean {
  if (part === next) return true
  if (!next || part.id !== next.id || part.type !== next.type) return false
  if ('text' in part && 'text' in next) {
    return isComplete(part) ? part.text === next.text : next.text.startsWith(part.text)
  }
  return part.type !== 'file' || (next.type === 'file' && part.url === next.url)
}

function isComplete(part: ViewPart | undefined): boolean {
  return part !== undefined && 'isComplete' in part && part.isComplete
}

/** Whether a new part is beyond its first state: the events before are not known. */
function isAhead(part: ViewPart): boolean {
  return (part.type === 'tool' && part.state !== 'called') || (part.type === 'question' && !part.isOpen)
}

/** JSON in a text, or the text: adapters of frameworks report what tools got and gave as text. */
export function parseShown(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
