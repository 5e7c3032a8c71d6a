import { isObject, type JsonObject } from '../../base/json.ts'
import type { AgentExtension } from '../card.ts'
import type { Message, Part } from '../model.ts'

/** Of a data part that calls a tool: `toolUseId`, `name`, `arguments`. */
export const toolUse = 'application/vnd.a2a.tool-use+json'

/** Of a data part that answers a call, or a request for input: `toolUseId`, `result`, `isError`. */
export const toolResult = 'application/vnd.a2a.tool-result+json'

/**
 * The extension by which agents ask their callers for input and have them run tools. What is asked for is in the
 * metadata of the message of a status, under this name: `requestId`, `prompt`, `sensitive`, `tool`, `schema`. Callers
 * who have not agreed on it get the same spelled out: the prompt as text, and the request in a data part.
 */
export const clientTools = 'https://parley.dev/ext/client-tools/v1'

/** As cards name it. */
export const clientToolsExtension: AgentExtension = {
  uri: clientTools,
  description: 'Asks callers for input, and has them run tools: requests by id in the metadata of a status message.',
  required: false,
}

/** Whether what answers the message must be kept from everybody but the one who asked. */
export function requestsSensitiveInput(message: Asking | undefined): boolean {
  return inputRequestIn(message)?.sensitive === true
}

/** For a reader who has not agreed on the extension. */
export function expandInputRequest(message: Message): Message {
  const request = message.metadata?.[clientTools]
  if (!isObject(request) || request.requestId === undefined) return message
  const { metadata: { [clientTools]: _, ...metadata } = {}, extensions: named = [], ...rest } = message
  const extensions = named.filter((uri) => uri !== clientTools)
  const { prompt } = request
  const isSaid = typeof prompt !== 'string' || message.parts.some((part) => 'text' in part)
  return {
    ...rest,
    parts: [...(isSaid ? [] : [{ text: prompt }]), ...message.parts, { data: { inputRequest: request } }],
    ...(extensions.length > 0 && { extensions }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** The same again as those have it who have agreed on the extension, whichever form it came in. */
export function collapseInputRequest(message: Message): Message {
  const request = inputRequestIn(message)
  if (!request || message.metadata?.[clientTools] !== undefined) return message
  return {
    ...message,
    parts: message.parts.filter((part) => !spelledOutIn(part)),
    metadata: { ...message.metadata, [clientTools]: request },
    extensions: [...new Set([...(message.extensions ?? []), clientTools])],
  }
}

/** What the message asks its reader for, if it does so in one of these forms. */
export function inputRequestIn(message: Asking | undefined): JsonObject | undefined {
  const request = message?.metadata?.[clientTools]
  if (isObject(request)) return request
  for (const part of message?.parts ?? []) {
    const found = spelledOutIn(part)
    if (found) return found
  }
  return undefined
}

type Asking = Pick<Message, 'metadata' | 'parts'>

function spelledOutIn(part: Part): JsonObject | undefined {
  const request = 'data' in part && isObject(part.data) ? part.data.inputRequest : undefined
  return isObject(request) && typeof request.requestId === 'string' ? request : undefined
}
