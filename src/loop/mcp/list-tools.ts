import type { Client, Tool } from '@modelcontextprotocol/client'
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** Pages that a list may have: a server whose list has no end is not followed for ever. */
const maxPages = 64

/** Bytes of name, description and schemas: all of it goes to the model, again and again. */
const maxTool = 64 * 1024

export interface Listed {
  /** As they came: nothing of them is checked. */
  readonly tools: readonly unknown[]
  /** There are more than were asked for. */
  readonly isCut: boolean
}

/** Asks for the tools by hand, since the client of MCP throws away a whole list for one tool that is wrong. */
export async function listTools(client: Client, limits: { maxTools: number; timeout: number }): Promise<Listed> {
  const tools: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages && tools.length <= limits.maxTools; page++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } } as const
    const result = await client.request(request, anyPage, { timeout: limits.timeout })
    tools.push(...result.tools)
    if (result.nextCursor === undefined || result.nextCursor === cursor) {
      return { tools: tools.slice(0, limits.maxTools), isCut: tools.length > limits.maxTools }
    }
    cursor = result.nextCursor
  }
  return { tools: tools.slice(0, limits.maxTools), isCut: true }
}

/** Throws, naming what is wrong. */
export function readTool(value: unknown): Tool {
  const { name, description, inputSchema } = (value ?? {}) as Record<string, unknown>
  if (typeof name !== 'string' || name === '' || name.length > 256) {
    throw new Error(`a tool has no name that can be used: ${JSON.stringify(name)?.slice(0, 100)}`)
  }
  if (description !== undefined && typeof description !== 'string') {
    throw new Error(`the description of the tool "${name}" is no text`)
  }
  if (typeof inputSchema !== 'object' || inputSchema === null || Array.isArray(inputSchema)) {
    throw new Error(`the input schema of the tool "${name}" is no object`)
  }
  if (!('type' in inputSchema) || inputSchema.type !== 'object') {
    throw new Error(`the input schema of the tool "${name}" does not describe an object`)
  }
  const { length } = JSON.stringify(value)
  if (length > maxTool) throw new Error(`the tool "${name}" is described by ${length} bytes, more than ${maxTool}`)
  return value as Tool
}

const anyPage: StandardSchemaV1<unknown, Page> = {
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate(value) {
      const { tools, nextCursor } = (value ?? {}) as Record<string, unknown>
      if (!Array.isArray(tools)) return { issues: [{ message: 'expected a list', path: ['tools'] }] }
      return { value: { tools, nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined } }
    },
  },
}

interface Page {
  readonly tools: readonly unknown[]
  readonly nextCursor: string | undefined
}
