import type { Json, JsonObject, Message } from './model.ts'

/**
 * The extension by which agents ask their callers for input and have them run tools. What is asked for is in the
 * metadata of the message of a status, under this name: `requestId`, `prompt`, `sensitive`, `tool`, `schema`.
 */
export const clientTools = 'https://parley.dev/ext/client-tools/v1'

/** Of a data part that calls a tool: `toolUseId`, `name`, `arguments`. */
export const toolUse = 'application/vnd.a2a.tool-use+json'

/** Of a data part that answers a call, or a request for input: `toolUseId`, `result`, `isError`. */
export const toolResult = 'application/vnd.a2a.tool-result+json'

/** What the message asks its reader for, if it does so in this form. */
export function inputRequestIn(message: Pick<Message, 'metadata'> | undefined): JsonObject | undefined {
  const request: Json | undefined = message?.metadata?.[clientTools]
  return typeof request === 'object' && request !== null && !Array.isArray(request)
    ? (request as JsonObject)
    : undefined
}

/** Whether what answers the message must be kept from everybody but the one who asked. */
export function asksForSecret(message: Pick<Message, 'metadata'> | undefined): boolean {
  return inputRequestIn(message)?.sensitive === true
}
