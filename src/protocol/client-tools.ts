/**
 * The extension by which agents ask their callers for input and have them run tools. What is asked for is in the
 * metadata of the message of a status, under this name: `requestId`, `prompt`, `sensitive`, `tool`, `schema`.
 */
export const clientTools = 'https://parley.dev/ext/client-tools/v1'

/** Of a data part that calls a tool: `toolUseId`, `name`, `arguments`. */
export const toolUse = 'application/vnd.a2a.tool-use+json'

/** Of a data part that answers a call, or a request for input: `toolUseId`, `result`, `isError`. */
export const toolResult = 'application/vnd.a2a.tool-result+json'
