import { toolResult } from '../protocol/client-tools.ts'
import type { MessageEvent } from '../protocol/events.ts'
import type { Json, Part } from '../protocol/model.ts'
import { redactionMark } from '../protocol/redacted.ts'
import type { SendRequest } from '../protocol/service.ts'
import type { TurnSecrets } from './scrub.ts'
import type { Vault } from './vault.ts'

/** The answer to a question for something secret, as it may be stored. It still tells which request it answers. */
export function withoutContent(request: SendRequest): SendRequest {
  const { message } = request
  return { ...request, message: { ...message, parts: message.parts.map(redacted) } }
}

/** What the message really said, for the turn that asked. As it is stored if that is with a process that is gone. */
export function revealed(event: MessageEvent, vault: Vault, secrets: TurnSecrets): MessageEvent {
  const parts = vault.of(event.ticket)?.parts
  if (!event.sensitive || !parts) return event
  for (const part of parts) learn('text' in part ? part.text : 'data' in part ? part.data : undefined, secrets)
  const { sensitive: _, ...told } = event
  return { ...told, message: { ...event.message, parts } }
}

function redacted(part: Part): Part {
  const about = part.mediaType === undefined ? {} : { mediaType: part.mediaType }
  if (!('data' in part)) return { text: redactionMark, ...about }
  const id = part.mediaType === toolResult && isMap(part.data) ? part.data.toolUseId : undefined
  return { data: { ...(typeof id === 'string' && { toolUseId: id }), redacted: true }, ...about }
}

/** Such as a PIN. What is shorter would be found in too much that is none. */
const shortest = 4

/** Every text and number in it is a secret, but for the name of what it answers. */
function learn(value: Json | undefined, secrets: TurnSecrets): void {
  if (typeof value === 'string' || typeof value === 'number') secrets.add(`${value}`, shortest)
  else if (Array.isArray(value)) for (const each of value) learn(each, secrets)
  else if (isMap(value)) for (const [key, each] of Object.entries(value)) if (key !== 'toolUseId') learn(each, secrets)
}

function isMap(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
