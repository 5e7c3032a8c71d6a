import { isObject, type JsonObject } from '../../base/json.ts'
import type { AgentExtension } from '../card.ts'
import type { Message, Part } from '../model.ts'

/** The media type of a data part that calls a tool: `toolUseId`, `name`, `arguments`. */
export const toolUse = 'application/vnd.a2a.tool-use+json'

/** The media type of a data part that answers a tool call or an input request: `toolUseId`, `result`, `isError`. */
export const toolResult = 'application/vnd.a2a.tool-result+json'

/**
 * The URI of the client tools extension, by which agents request input from their callers and have them run tools. The
 * request is in the metadata of a status message, under this URI: `requestId`, `prompt`, `sensitive`, `tool`, `schema`.
 * Callers that have not activated the extension get it expanded: the prompt as text, the request as a data part.
 */
export const clientTools = 'https://parley.dev/ext/client-tools/v1'

/** The client tools extension, as cards declare it. */
export const clientToolsExtension: AgentExtension = {
  uri: clientTools,
  description: 'Asks callers for input, and has them run tools: requests by id in the metadata of a status message.',
  required: false,
}

/** Whether the message requests input that must be neither stored nor logged. */
export function requestsSensitiveInput(message: RequestingMessage | undefined): boolean {
  return inputRequestIn(message)?.sensitive === true
}

/** Rewrites an input request for a reader that has not activated the extension. */
export function expandInputRequest(message: Message): Message {
  const request = message.metadata?.[clientTools]
  if (!isObject(request) || request.requestId === undefined) return message
  const { metadata: { [clientTools]: _, ...metadata } = {}, extensions: uris = [], ...rest } = message
  const extensions = uris.filter((uri) => uri !== clientTools)
  const { prompt } = request
  const needsText = typeof prompt === 'string' && !message.parts.some((part) => 'text' in part)
  return {
    ...rest,
    parts: [...(needsText ? [{ text: prompt }] : []), ...message.parts, { data: { inputRequest: request } }],
    ...(extensions.length > 0 && { extensions }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** Undoes `expandInputRequest`. A message whose request is already in the metadata stays the same. */
export function collapseInputRequest(message: Message): Message {
  const request = inputRequestIn(message)
  if (!request || message.metadata?.[clientTools] !== undefined) return message
  return {
    ...message,
    parts: message.parts.filter((part) => !expandedRequestIn(part)),
    metadata: { ...message.metadata, [clientTools]: request },
    extensions: [...new Set([...(message.extensions ?? []), clientTools])],
  }
}

/** Returns the input request of a message, in its metadata or expanded into a data part. */
export function inputRequestIn(message: RequestingMessage | undefined): JsonObject | undefined {
  const request = message?.metadata?.[clientTools]
  if (isObject(request)) return request
  for (const part of message?.parts ?? []) {
    const expanded = expandedRequestIn(part)
    if (expanded) return expanded
  }
  return undefined
}

type RequestingMessage = Pick<Message, 'metadata' | 'parts'>

function expandedRequestIn(part: Part): JsonObject | undefined {
  const request = 'data' in part && isObject(part.data) ? part.data.inputRequest : undefined
  return isObject(request) && typeof request.requestId === 'string' ? request : undefined
}
