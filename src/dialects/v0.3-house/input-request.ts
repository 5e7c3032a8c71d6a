import { clientTools } from '../../protocol/client-tools.ts'
import type { JsonObject, Message } from '../../protocol/model.ts'
import { withoutKeys } from '../compat-metadata.ts'
import { fitting } from '../fitting.ts'
import { isObject } from '../is-object.ts'
import type { TypeOf } from '../shape.ts'
import { carriedWords, carryingWords } from './carry.ts'
import { AskedInput, Asking, Words } from './schemas.ts'

/**
 * A message that asks for input has a member for it in the house. Elsewhere this is an extension, and the request is in
 * the metadata. On the way through 0.3 the metadata holds what the house said in either place, so that both stay apart.
 */
type Said = TypeOf<typeof Words>

export function messageToStandard(message: unknown): unknown {
  if (!isObject(message)) return message
  const { inputRequest, ...wire } = message
  return inputRequest === undefined && wire.metadata === undefined ? wire : { ...wire, metadata: Asking.read(message) }
}

/** What 0.3 made of a message, as everybody has it. */
export function liftMessage(message: Message): Message {
  const { metadata: wrapped, ...rest } = message
  if (wrapped === undefined) return message
  const words = Words.read(wrapped)
  const lifted = { ...rest, ...spoken(words) }
  // What would not be found again by looking at it is kept beside it.
  return isSame(wordsOf(lifted), words) ? lifted : { ...lifted, ...carryingWords(words) }
}

/** What 0.3 writes as a message of the house. */
export function lowerMessage(message: Message): Message {
  const { metadata, extensions: given, carry, ...rest } = message
  const kept = fitting(Words, carriedWords(carry))
  const words = kept && isSame(spoken(kept), present({ metadata, extensions: given })) ? kept : wordsOf(message)
  const { extensions, ...wrapped } = words
  return {
    ...rest,
    ...(extensions !== undefined && { extensions }),
    ...(Object.keys(wrapped).length > 0 && { metadata: wrapped as JsonObject }),
  }
}

export function messageToHouse(message: unknown): unknown {
  if (!isObject(message) || !isObject(message.metadata)) return message
  const { metadata: wrapped, ...wire } = message
  const { inputRequest, metadata } = Words.read(wrapped)
  return {
    ...wire,
    ...(inputRequest !== undefined && { inputRequest: { kind: 'input-request', ...inputRequest } }),
    ...(metadata !== undefined && { metadata }),
  }
}

type Spoken = Pick<Message, 'metadata' | 'extensions'>

function spoken({ inputRequest, metadata, extensions }: Said): Spoken {
  if (inputRequest === undefined) return present({ metadata, extensions })
  return {
    metadata: { ...metadata, [clientTools]: inputRequest },
    extensions: [...new Set([...(extensions ?? []), clientTools])],
  }
}

function wordsOf({ metadata, extensions }: Spoken): Said {
  const asked = metadata?.[clientTools]
  const inputRequest = asked === undefined ? undefined : fitting(AskedInput, asked)
  if (inputRequest === undefined) return present({ metadata, extensions })
  const others = extensions?.filter((extension) => extension !== clientTools)
  return present({
    inputRequest,
    metadata: withoutKeys(metadata, { [clientTools]: asked }),
    extensions: others?.length ? others : undefined,
  })
}

/** Members that are undefined are left out. */
function present<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
