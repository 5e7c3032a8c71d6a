import type { Client, Tool } from '@modelcontextprotocol/client'
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** Maximum number of pages: a faulty server may return an endless list. */
const maxPages = 64

/** Maximum size of name, description and schemas in bytes: all of it is part of every prompt. */
const maxToolBytes = 64 * 1024

export interface ToolList {
  /** Unvalidated. */
  readonly tools: readonly unknown[]
  /** The server has more tools than `maxTools`. */
  readonly isTruncated: boolean
}

/** Sends `tools/list` itself, because the MCP client discards the whole list for one invalid tool. */
export async function listTools(client: Client, limits: { maxTools: number; timeout: number }): Promise<ToolList> {
  const tools: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages && tools.length <= limits.maxTools; page++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } } as const
    const result = await client.request(request, anyPage, { timeout: limits.timeout })
    tools.push(...result.tools)
    if (result.nextCursor === undefined || result.nextCursor === cursor) {
      return { tools: tools.slice(0, limits.maxTools), isTruncated: tools.length > limits.maxTools }
    }
    cursor = result.nextCursor
  }
  return { tools: tools.slice(0, limits.maxTools), isTruncated: true }
}

/** Throws an error that names the violation. */
export function readTool(value: unknown): Tool {
  const { name, description, inputSchema } = (value ?? {}) as Record<string, unknown>
  if (typeof name !== 'string' || name === '' || name.length > 256) {
    throw new Error(`a tool has no usable name: ${JSON.stringify(name)?.slice(0, 100)}`)
  }
  if (description !== undefined && typeof description !== 'string') {
    throw new Error(`the description of the tool "${name}" is not a string`)
  }
  if (typeof inputSchema !== 'object' || inputSchema === null || Array.isArray(inputSchema)) {
    throw new Error(`the input schema of the tool "${name}" is not an object`)
  }
  if (!('type' in inputSchema) || inputSchema.type !== 'object') {
    throw new Error(`the input schema of the tool "${name}" does not describe an object`)
  }
  const { length } = JSON.stringify(value)
  if (length > maxToolBytes)
    throw new Error(`the tool "${name}" is described by ${length} bytes, more than ${maxToolBytes}`)
  return value as Tool
}

/**
 * A schema without regular expressions, for checks on this side: those of a foreign server could block the event loop
 * for hours. It accepts everything that the original accepts, and the server checks its arguments itself. Keywords that
 * would reject more without the patterns inside of them are removed as a whole.
 */
export function withoutPatterns<T>(schema: T): T {
  return mayHavePatterns(schema) ? (relax(schema) as T) : schema
}

/** Keywords that a looser schema inside can make reject more. */
const reversingKeywords = ['not', 'oneOf', 'if', 'contains']

const schemaMaps = ['properties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']

const plainValues = ['const', 'enum', 'default', 'examples', 'required', 'dependentRequired']

function relax(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(relax)
  if (typeof schema !== 'object' || schema === null) return schema
  const removed = ['pattern', 'patternProperties', 'unevaluatedProperties', 'unevaluatedItems']
  if ('patternProperties' in schema) removed.push('additionalProperties')
  const members: [string, unknown][] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (removed.includes(keyword) || (reversingKeywords.includes(keyword) && mayHavePatterns(value))) continue
    if (plainValues.includes(keyword)) members.push([keyword, value])
    else if (schemaMaps.includes(keyword)) members.push([keyword, relaxMap(value)])
    else members.push([keyword, relax(value)])
  }
  return Object.fromEntries(members)
}

/** The names of properties and definitions are not keywords. */
function relaxMap(schemas: unknown): unknown {
  if (typeof schemas !== 'object' || schemas === null) return schemas
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, relax(schema)]))
}

/** Also if a reference may lead to a pattern. */
function mayHavePatterns(schema: unknown): boolean {
  return /"(?:pattern|patternProperties|\$ref|\$dynamicRef|\$recursiveRef)":/.test(JSON.stringify(schema) ?? '')
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
