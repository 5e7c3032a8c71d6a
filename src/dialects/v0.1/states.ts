import type { JsonObject, TaskState } from '../../protocol/model.ts'
import { withKeys, withoutKeys } from '../compat-metadata.ts'
import type { Shape } from '../shape.ts'
import { wrongType } from '../violation.ts'

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
  form: { is: 'word', words },
}

/** A state, and the metadata of what is in that state. */
interface Stated<S> {
  readonly state: S
  readonly metadata?: JsonObject
}

const key = 'a2a.state'

/** The states that 0.1 has no word for: what is said instead, and what the metadata says then. */
const substitutes = {
  rejected: { word: 'failed', truth: 'TASK_STATE_REJECTED' },
  'auth-required': { word: 'input-required', truth: 'TASK_STATE_AUTH_REQUIRED' },
} as const

export function encodeState({ state, metadata }: Stated<TaskState | 'unknown'>): Stated<WireState> {
  if (state !== 'rejected' && state !== 'auth-required') return { state, metadata }
  const { word, truth } = substitutes[state]
  return { state: word, metadata: withKeys(metadata, { [key]: truth }) }
}

export function decodeState({ state, metadata }: Stated<TaskState | 'unknown'>): Stated<TaskState | 'unknown'> {
  for (const meant of ['rejected', 'auth-required'] as const) {
    const { word, truth } = substitutes[meant]
    if (state === word && metadata?.[key] === truth) {
      return { state: meant, metadata: withoutKeys(metadata, { [key]: truth }) }
    }
  }
  return { state, metadata }
}
