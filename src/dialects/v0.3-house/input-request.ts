import { clientTools } from '../../protocol/client-tools.ts'
import type { Json } from '../../protocol/model.ts'
import { withoutKeys } from '../compat-metadata.ts'
import { fitting } from '../fitting.ts'
import { isObject } from '../is-object.ts'
import { AskedInput, Asking } from './schemas.ts'

/** A message that asks for input has a member for it in the house. Elsewhere this is an extension. */

export function messageToStandard(message: unknown): unknown {
  if (!isObject(message)) return message
  const { inputRequest, metadata, extensions = [] } = Asking.read(message)
  if (inputRequest === undefined) return message
  return {
    ...message,
    metadata: { ...metadata, [clientTools]: inputRequest },
    extensions: [...new Set([...extensions, clientTools])],
  }
}

export function messageToHouse(message: unknown): unknown {
  const asking = fitting(Asking, message)
  const asked = asking?.metadata?.[clientTools]
  const request = asked === undefined ? undefined : fitting(AskedInput, asked)
  if (!isObject(message) || request === undefined) return message
  const { metadata: _, extensions: __, ...wire } = message
  const house: Record<string, Json> = { ...wire, inputRequest: { kind: 'input-request', ...request } }
  const metadata = withoutKeys(asking?.metadata, { [clientTools]: asked })
  const extensions = asking?.extensions?.filter((extension) => extension !== clientTools) ?? []
  if (metadata !== undefined) house.metadata = metadata
  if (extensions.length > 0) house.extensions = extensions
  return house
}
