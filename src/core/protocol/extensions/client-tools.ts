import { defined, isObject, type JsonObject } from '../../base/json.ts'
import type { AgentExtension } from '../card.ts'
import type { Message, Part } from '../model.ts'

/** The media type of a data part that calls a tool: `toolUseId`, `name`, `arguments`. */
export const toolUse = 'application/vnd.a2a.tool-use+json'

/** The media type of a data part that answers a tool call or an input request: `toolUseId`, `result`, `isError`. */
export const toolResult = 'application/vnd.a2a.tool-result+json'

/**
 * The URI of the client tools extension, by which agents request input from their callers and have them run tools. The
 * request is in the metadata of a status message, under this URI: `requestId`, `prompt`, `sensitive`, `tool`, `schema`,
 * `resultSchema`, `expiresAt` (when the question is given up), and `toolArguments` of a call that needs an approval. The
 * call of a tool is a data part; `schema` is that of its arguments, and `resultSchema` that of its result. Callers that
 * have not activated the extension get it in the metadata as well, as `arguments`: they often show the parts to people.
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

/**
 * Writes a question as plain text, for a reader that has not activated the extension: many clients show data parts to
 * people. The request stays in the metadata, with the arguments of the tool that the caller shall run.
 */
export function toPlainQuestion(message: Message): Message {
  const request = message.metadata?.[clientTools]
  if (!isObject(request) || request.requestId === undefined) return message
  const { extensions: uris = [], ...rest } = message
  const extensions = uris.filter((uri) => uri !== clientTools)
  const { prompt } = request
  const use = message.parts.find((part) => isUseFor(part, request))
  const parts = message.parts.filter((part) => part !== use)
  const needsText = typeof prompt === 'string' && !parts.some((part) => 'text' in part)
  return {
    ...rest,
    parts: needsText ? [{ text: prompt }, ...parts] : parts,
    metadata: { ...message.metadata, [clientTools]: use ? { ...request, ...argumentsOf(use) } : request },
    ...defined({ extensions: extensions.length > 0 ? extensions : undefined }),
  }
}

/** Undoes `toPlainQuestion`, and reads requests in data parts. Messages in the form of the extension stay the same. */
export function fromPlainQuestion(message: Message): Message {
  const found = inputRequestIn(message)
  if (found?.requestId === undefined) return message
  const { arguments: input, ...request } = found
  const parts = message.parts.filter((part) => !requestInPart(part))
  const { requestId: toolUseId, tool: name } = request
  const use = input !== undefined && !parts.some((part) => isUseFor(part, request))
  return {
    ...message,
    parts: use ? [...parts, { data: { toolUseId, name, arguments: input } as JsonObject, mediaType: toolUse }] : parts,
    metadata: { ...message.metadata, [clientTools]: request },
    extensions: [...new Set([...(message.extensions ?? []), clientTools])],
  }
}

/** Returns the input request of a message, in its metadata or in a data part, where older servers put it. */
export function inputRequestIn(message: RequestingMessage | undefined): JsonObject | undefined {
  const request = message?.metadata?.[clientTools]
  if (isObject(request)) return request
  for (const part of message?.parts ?? []) {
    const inPart = requestInPart(part)
    if (inPart) return inPart
  }
  return undefined
}

type RequestingMessage = Pick<Message, 'metadata' | 'parts'>

function requestInPart(part: Part): JsonObject | undefined {
  const request = 'data' in part && isObject(part.data) ? part.data.inputRequest : undefined
  return isObject(request) && typeof request.requestId === 'string' ? request : undefined
}

/** Whether the part is the tool call that the request asks for. */
function isUseFor(part: Part, { requestId }: JsonObject): part is Part & { readonly data: JsonObject } {
  if (part.mediaType !== toolUse || !('data' in part) || !isObject(part.data)) return false
  return part.data.toolUseId === requestId
}

function argumentsOf({ data }: { readonly data: JsonObject }): JsonObject {
  return data.arguments === undefined ? {} : { arguments: data.arguments }
}
