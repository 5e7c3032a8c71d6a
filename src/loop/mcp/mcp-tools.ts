import type { CallToolResult, JsonSchemaType, Tool as McpTool, Progress } from '@modelcontextprotocol/client'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json, JsonObject } from '../../base/json.ts'
import { traceHeaders } from '../../base/trace-context.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Part } from '../../protocol/model.ts'
import { type LocalTool, localTool, type Tool, type ToolContext } from '../tools/tool.ts'
import { partsResult } from '../tools/tool-result.ts'
import type { ToolSource } from '../tools/toolbox.ts'
import { createConnection, loadMcp } from './connection.ts'
import { listTools, readTool } from './list-tools.ts'
import type { McpAddress, McpProblem, McpToolsOptions } from './options.ts'

/** The loop cuts calls itself. What a timer can wait at the longest. */
const never = 2 ** 31 - 1

/** The tools of an MCP server, as the loop needs them; they are what the server says now. */
export interface McpTools extends ToolSource, AsyncDisposable {
  /** Ends the program that was started, or the session. A client that was handed in stays open. */
  close(): Promise<void>
}

/** Tools of an MCP server for a loop. It is connected when a model is first asked, and again after it broke. */
export function mcpTools(address: McpAddress, options: McpToolsOptions = {}): McpTools {
  requireAddress(address)
  const { connectTimeout = 30_000, maxTools = 256, maxMessage = 10 * 2 ** 20, required, onProblem } = options
  const connection = createConnection(address, { ...options, connectTimeout, maxMessage }, () => {
    isStale = true
  })
  let isStale = true
  let known: readonly Tool[] = []
  let listing: Promise<void> | undefined

  const problem = (type: McpProblem['type'], message: string, cause?: unknown) => onProblem?.({ type, message, cause })

  async function list(): Promise<void> {
    const client = await connection.open()
    if (!isStale) return
    // A change that is told from here on is not in the list, perhaps.
    isStale = false
    try {
      const { tools, isCut } = await listTools(client, { maxTools, timeout: connectTimeout })
      if (isCut) problem('too-many-tools', `The MCP server has more than ${maxTools} tools: only the first are used.`)
      known = await toTools(tools)
    } catch (error) {
      isStale = true
      if (isLost(error)) await connection.drop(client)
      throw error
    }
  }

  async function toTools(found: readonly unknown[]): Promise<readonly Tool[]> {
    const { fromJsonSchema } = await loadMcp()
    const tools = new Map<string, Tool>()
    for (const each of found) {
      try {
        const tool = readTool(each)
        if (options.include && !options.include(tool)) continue
        const made = toTool(tool, fromJsonSchema)
        if (tools.has(made.name)) throw new Error(`two tools would be called "${made.name}"`)
        tools.set(made.name, made)
      } catch (error) {
        problem('bad-tool', `A tool of the MCP server is not used: ${reasonOf(error)}.`, error)
      }
    }
    return [...tools.values()]
  }

  function toTool(tool: McpTool, fromJsonSchema: FromJsonSchema): LocalTool {
    const { name, description, inputSchema } = tool
    const { needsApproval = false, timeout } = options
    return localTool({
      name: nameOf(name, options.prefix),
      ...(description !== undefined && { description }),
      input: compiled(tool, fromJsonSchema),
      inputJsonSchema: inputSchema as JsonObject,
      needsApproval: typeof needsApproval === 'function' ? needsApproval(tool) : needsApproval,
      ...(timeout !== undefined && { timeout }),
      run: (input, context) => call(tool, input, context),
    })
  }

  async function call(tool: McpTool, input: unknown, context: ToolContext, isAgain = false): Promise<unknown> {
    const client = await connection.open()
    const { signal, progress, trace } = context
    try {
      const said = { name: tool.name, arguments: input as Record<string, unknown> }
      // Where MCP has the trace of a caller.
      const given = trace ? { ...said, _meta: traceHeaders(trace) } : said
      const onprogress = (told: Progress) => progress(wordsOf(tool, told))
      const result = await client.callTool(given, { signal, onprogress, timeout: never, toolDefinition: tool })
      const parts = toParts(result)
      const files = parts.filter((part) => 'raw' in part || 'url' in part)
      if (options.artifacts && files.length > 0) context.artifact({ name: tool.name, parts: files })
      return partsResult(parts, { isError: result.isError === true })
    } catch (error) {
      signal.throwIfAborted()
      if (!isLost(error)) throw error
      await connection.drop(client)
      // A session that the server does not know any more: nothing was done.
      if (isForgotten(error) && !isAgain) return await call(tool, input, context, true)
      throw new Error(`${reasonOf(error)} (the MCP server has gone; it is connected again by the next call)`)
    }
  }

  return {
    type: 'source',
    async tools(signal) {
      try {
        if (isStale) {
          listing ??= list().finally(() => {
            listing = undefined
          })
          await orLeave(listing, signal)
        }
      } catch (error) {
        signal.throwIfAborted()
        problem('unreachable', `The MCP server cannot be reached: ${reasonOf(error)}`, error)
        if (required) throw new A2AError('unavailable', 'A server of tools cannot be reached.', { cause: error })
      }
      return known
    },
    async close() {
      known = []
      await connection.close()
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
}

function requireAddress(address: unknown): void {
  const isGiven = typeof address === 'object' && address !== null
  if (isGiven && ('callTool' in address || ('command' in address && typeof address.command === 'string'))) return
  if (isGiven && 'url' in address && URL.canParse(`${address.url}`)) return
  throw new TypeError('mcpTools(): expected { command }, { url } or a client of MCP that is connected')
}

/** The connection, and not the call, has failed. */
function isLost(error: unknown): boolean {
  if (isForgotten(error)) return true
  const code = typeof error === 'object' && error && 'code' in error ? error.code : undefined
  return (
    code === 'CONNECTION_CLOSED' || code === 'NOT_CONNECTED' || code === 'SEND_FAILED' || error instanceof TypeError
  )
}

function isForgotten(error: unknown): boolean {
  if (typeof error !== 'object' || !error || !('data' in error)) return false
  const { data } = error
  return typeof data === 'object' && data !== null && 'status' in data && data.status === 404
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

type FromJsonSchema = typeof import('@modelcontextprotocol/client').fromJsonSchema

/** What models may call it: letters, digits, `_` and `-`, 64 at most. */
function nameOf(name: string, prefix: string | undefined): string {
  return `${prefix ? `${prefix}_` : ''}${name}`.replace(/[^\w-]/g, '_').slice(0, 64)
}

/** Whatever it is, it is refused here if nothing can be checked by it. */
function compiled({ name, inputSchema }: McpTool, fromJsonSchema: FromJsonSchema): StandardSchemaV1 {
  try {
    return fromJsonSchema(inputSchema as JsonSchemaType)
  } catch (error) {
    throw new Error(`the input schema of the tool "${name}" is wrong: ${reasonOf(error)}`)
  }
}

function wordsOf({ name }: McpTool, { progress, total, message }: Progress): string {
  const part = total === undefined ? `${progress}` : `${progress} of ${total}`
  return `${name}: ${message ? `${message.slice(0, 1_000)} (${part})` : part}`
}

/** What a tool of MCP gives, as parts: its content, or what is structured of it if that is all there is. */
function toParts({ content = [], structuredContent }: CallToolResult): readonly Part[] {
  const parts = content.map(toPart)
  if (structuredContent === undefined) return parts
  const data = { data: structuredContent as Json, mediaType: 'application/json' }
  // Servers repeat it as text for those who do not know of it.
  const text = JSON.stringify(structuredContent)
  const others = parts.filter((part) => !('text' in part && isSameJson(part.text, text)))
  return [data, ...others]
}

function toPart(block: Block): Part {
  switch (block.type) {
    case 'text':
      return { text: block.text }
    case 'image':
    case 'audio':
      return { raw: block.data, mediaType: block.mimeType }
    case 'resource_link':
      return { url: block.uri, filename: block.name, ...(block.mimeType && { mediaType: block.mimeType }) }
    case 'resource': {
      const { uri, mimeType } = block.resource
      const about = { filename: nameIn(uri), ...(mimeType && { mediaType: mimeType }) }
      return 'blob' in block.resource ? { raw: block.resource.blob, ...about } : { text: block.resource.text, ...about }
    }
  }
}

type Block = CallToolResult['content'][number]

/** The last of its path. */
function nameIn(uri: string): string {
  return /([^/?#]+)\/?(?:[?#].*)?$/.exec(uri)?.[1] ?? uri
}

function isSameJson(one: string, other: string): boolean {
  try {
    return JSON.stringify(JSON.parse(one)) === other
  } catch {
    return false
  }
}

async function orLeave<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let leave = () => {}
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([work, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
