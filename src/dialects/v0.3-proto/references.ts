import type { Message } from '../../protocol/model.ts'
import { withKeys, withoutKeys } from '../compat-metadata.ts'
import { fitting } from '../fitting.ts'
import { id, maxWords } from '../limits.ts'
import { list } from '../shape.ts'

type Referring = Pick<Message, 'referenceTaskIds' | 'metadata'>

/** The proto of 0.3 has no member for the tasks that a message refers to: they are in its metadata. */
const key = 'a2a.referenceTaskIds'
const Ids = list(id, { min: 1, max: maxWords })

export function encodeReferences({ referenceTaskIds, metadata }: Referring): Message['metadata'] {
  return withKeys(metadata, { [key]: referenceTaskIds?.length ? referenceTaskIds : undefined })
}

export function decodeReferences({ metadata }: Pick<Message, 'metadata'>): Referring {
  // Something else under that key is not ours.
  const referenceTaskIds = fitting(Ids, metadata?.[key])
  return { referenceTaskIds, metadata: withoutKeys(metadata, { [key]: referenceTaskIds }) }
}
