import type { JsonObject, TaskState } from '../../protocol/model.ts'
import type { Shape } from '../shape.ts'
import { wrongType } from '../violation.ts'
import { withMarks, withoutMarks } from './marks.ts'

const words = ['submitted', 'working', 'input-required', 'completed', 'canceled', 'failed', 'unknown'] as const
type WireState = (typeof words)[number]

/** As agents spell them, also those of later versions and those who never looked it up. */
const spellings: ReadonlyMap<string, TaskState | 'unknown'> = new Map<string, TaskState | 'unknown'>([
  ...words.map((word) => [word, word] as const),
  ['rejected', 'rejected'],
  ['auth-required', 'auth-required'],
  ['cancelled', 'canceled'],
  ['pending', 'submitted'],
  ['running', 'working'],
])

export const State: Shape<TaskState | 'unknown'> = {
  read(value) {
    if (typeof value !== 'string') throw wrongType(`one of ${words.join(', ')}`, value)
    return spellings.get(value.toLowerCase().replaceAll('_', '-')) ?? 'unknown'
  },
  schema: { enum: words },
}

/** A state, and the metadata of what is in that state. */
interface Stated<S> {
  readonly state: S
  readonly metadata?: JsonObject
}

const mark = 'a2a.state'
const unspecified = 'TASK_STATE_UNSPECIFIED'

/** The states that 0.1 has no word for: what is said instead, and the mark that tells the truth. */
const substitutes = {
  rejected: { word: 'failed', truth: 'TASK_STATE_REJECTED' },
  'auth-required': { word: 'input-required', truth: 'TASK_STATE_AUTH_REQUIRED' },
} as const

export function encodeState({ state, metadata }: Stated<TaskState>): Stated<WireState> {
  if (state === 'rejected' || state === 'auth-required') {
    const { word, truth } = substitutes[state]
    return { state: word, metadata: withMarks(metadata, { [mark]: truth }) }
  }
  if (state === 'working' && metadata?.[mark] === unspecified) {
    return { state: 'unknown', metadata: withoutMarks(metadata, { [mark]: unspecified }) }
  }
  return { state, metadata }
}

/** An agent that does not know what became of a task has at least not ended it. */
export function decodeState({ state, metadata }: Stated<TaskState | 'unknown'>): Stated<TaskState> {
  if (state === 'unknown') return { state: 'working', metadata: withMarks(metadata, { [mark]: unspecified }) }
  for (const meant of ['rejected', 'auth-required'] as const) {
    const { word, truth } = substitutes[meant]
    if (state === word && metadata?.[mark] === truth) {
      return { state: meant, metadata: withoutMarks(metadata, { [mark]: truth }) }
    }
  }
  return { state, metadata }
}

/** Stands for the moment of a status that names none. */
export const unknownMoment = new Date(0).toISOString()
