import type { CallToolResult, JsonSchemaType, Tool as McpTool, Progress } from '@modelcontextprotocol/client'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unlessAborted } from '../../core/base/abort.ts'
import { defined, type Json, type JsonObject } from '../../core/base/json.ts'
import { checkOptions } from '../../core/base/options.ts'
import { traceHeaders } from '../../core/base/trace-context.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { Part } from '../../core/protocol/model.ts'
import { type ReportFailure, serverName } from '../report.ts'
import { type LocalTool, localTool, type Tool, type ToolContext } from '../tools/tool.ts'
import { partsResult } from '../tools/tool-result.ts'
import type { ToolSource } from '../tools/toolbox.ts'
import { createConnection, loadMcp } from './connection.ts'
import { listTools, readTool, withoutPatterns } from './list-tools.ts'
import { type McpAddress, type McpProblem, type McpToolsOptions, mcpToolsChecks } from './options.ts'

/** The longest delay of a timer: the loop has its own timeout for calls. */
const noTimeout = 2 ** 31 - 1

const definitions = new WeakMap<Tool, McpTool>()

/** What the MCP server says about a tool of `mcpTools`. */
export function definitionOf(tool: Tool): McpTool | undefined {
  return definitions.get(tool)
}

/** The current tools of an MCP server. */
export interface McpTools extends ToolSource, AsyncDisposable {
  /** Stops the started program or ends the session. A client that was passed in stays open. */
  close(): Promise<void>
}

/**
 * Provides the tools of an MCP server to a loop. Connects before the first model call, and again after the connection
 * is lost.
 *
 * @example
 * const files = mcpTools({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/data'] })
 * const loop = createAgentLoop({ model, tools: [files] })
 */
export function mcpTools(address: McpAddress, options: McpToolsOptions = {}): McpTools {
  requireAddress(address)
  checkOptions('mcpTools', options, mcpToolsChecks)
  const { connectTimeout = 30_000, maxTools = 256, maxMessage = 10 * 2 ** 20, required, onProblem } = options
  const connection = createConnection(address, { ...options, connectTimeout, maxMessage }, () => {
    isStale = true
  })
  let isStale = true
  let tools: readonly Tool[] = []
  let refreshing: Promise<void> | undefined

  const server = serverName(address)
  const problems = createProblemReport(server, onProblem)

  async function refresh(): Promise<void> {
    const client = await connection.open()
    if (!isStale) return
    // Set before listing: a change notification during the request makes the list stale again.
    isStale = false
    try {
      const list = await listTools(client, { maxTools, timeout: connectTimeout })
      if (list.isTruncated)
        problems.report('too-many-tools', `The MCP server has more than ${maxTools} tools: only the first are used.`)
      tools = await toTools(list.tools)
    } catch (error) {
      isStale = true
      if (isConnectionLost(error)) await connection.drop(client)
      throw error
    }
  }

  async function toTools(definitions: readonly unknown[]): Promise<readonly Tool[]> {
    const { fromJsonSchema } = await loadMcp()
    const byName = new Map<string, Tool>()
    for (const definition of definitions) {
      try {
        const mcpTool = readTool(definition)
        if (options.include && !options.include(mcpTool)) continue
        const tool = toTool(mcpTool, fromJsonSchema)
        if (byName.has(tool.name)) throw new Error(`two tools would be called "${tool.name}"`)
        byName.set(tool.name, tool)
      } catch (error) {
        problems.report('bad-tool', `A tool of the MCP server is not used: ${messageOf(error)}.`, error)
      }
    }
    return [...byName.values()]
  }

  function toTool(tool: McpTool, fromJsonSchema: FromJsonSchema): LocalTool {
    const { name, description, inputSchema } = tool
    const { needsApproval = false, timeout } = options
    const made = localTool({
      name: toolName(name, options.prefix),
      ...defined({ description }),
      input: compileSchema(tool, fromJsonSchema),
      inputJsonSchema: inputSchema as JsonObject,
      needsApproval: typeof needsApproval === 'function' ? needsApproval(tool) : needsApproval,
      ...defined({ timeout }),
      run: (input, context) => call(tool, input, context),
    })
    definitions.set(made, tool)
    return made
  }

  async function call(tool: McpTool, input: unknown, context: ToolContext, isRetry = false): Promise<unknown> {
    const client = await connection.open()
    const { signal, progress, trace } = context
    try {
      const params = { name: tool.name, arguments: input as Record<string, unknown> }
      // MCP carries the trace context in _meta.
      const request = trace ? { ...params, _meta: traceHeaders(trace) } : params
      // The client checks structured results against the output schema.
      const { outputSchema } = tool
      const toolDefinition = outputSchema ? { ...tool, outputSchema: withoutPatterns(outputSchema) } : tool
      const onprogress = (update: Progress) => progress(describeProgress(tool, update))
      const result = await client.callTool(request, { signal, onprogress, timeout: noTimeout, toolDefinition })
      const parts = toParts(result)
      const files = parts.filter((part) => 'raw' in part || 'url' in part)
      if (options.artifacts && files.length > 0) context.artifact({ name: tool.name, parts: files })
      return partsResult(parts, { isError: result.isError === true })
    } catch (error) {
      signal.throwIfAborted()
      if (!isConnectionLost(error)) throw error
      await connection.drop(client)
      // The server no longer knows the session, so it did not run the call.
      if (isSessionUnknown(error) && !isRetry) return await call(tool, input, context, true)
      throw new Error(`${messageOf(error)} (the connection to the MCP server was lost; the next call reconnects)`)
    }
  }

  return {
    type: 'source',
    async tools(signal, logFailure) {
      problems.logBy(logFailure)
      try {
        if (isStale) {
          refreshing ??= refresh().finally(() => {
            refreshing = undefined
          })
          await unlessAborted(refreshing, signal)
          problems.endOutage()
        }
      } catch (error) {
        signal.throwIfAborted()
        problems.report(
          'unreachable',
          `The MCP server ${server} cannot be reached: ${problemOf(error, address)}`,
          error,
        )
        if (required) throw new A2AError('unavailable', 'An MCP server cannot be reached.', { cause: error })
      }
      return tools
    },
    async close() {
      tools = []
      await connection.close()
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
}

/** Reports the problems of a server to the program, and to the log of the turn that reads its tools. */
function createProblemReport(server: string, onProblem: McpToolsOptions['onProblem']) {
  let log: ReportFailure | undefined
  /** The failure to connect that was logged: a loop lists its tools before every step, and must not repeat it. */
  let outage: string | undefined
  return {
    logBy(logFailure: ReportFailure | undefined): void {
      log = logFailure
    },
    endOutage(): void {
      outage = undefined
    },
    report(type: McpProblem['type'], message: string, cause?: unknown): void {
      onProblem?.({ type, message, cause })
      if (message === outage) return
      if (type === 'unreachable') outage = message
      const error = cause ?? new Error(message)
      log?.({ error, message: logTexts[type], level: 'warn', fields: { server, problem: message } })
    },
  }
}

const logTexts: Readonly<Record<McpProblem['type'], string>> = {
  unreachable: 'an MCP server cannot be reached',
  'bad-tool': 'a tool of an MCP server is not used',
  'too-many-tools': 'an MCP server has too many tools',
}

/** Names a program that is not there: the error of the system does so only in its members. */
function problemOf(error: unknown, address: McpAddress): string {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT' && 'command' in address
  if (!isMissing) return messageOf(error)
  const { command, cwd } = address
  if (cwd !== undefined) return `there is no program ${command}, or no directory ${cwd}. Check both.`
  return `there is no program ${command}. Install it, or give its full path as command.`
}

function requireAddress(address: unknown): void {
  const isObject = typeof address === 'object' && address !== null
  if (isObject && ('callTool' in address || ('command' in address && typeof address.command === 'string'))) return
  if (isObject && 'url' in address && URL.canParse(`${address.url}`)) return
  throw new TypeError('mcpTools(): expected { command }, { url } or a connected MCP client')
}

/** Whether the connection failed, rather than the call. */
function isConnectionLost(error: unknown): boolean {
  if (isSessionUnknown(error)) return true
  const code = typeof error === 'object' && error && 'code' in error ? error.code : undefined
  return (
    code === 'CONNECTION_CLOSED' || code === 'NOT_CONNECTED' || code === 'SEND_FAILED' || error instanceof TypeError
  )
}

function isSessionUnknown(error: unknown): boolean {
  if (typeof error !== 'object' || !error || !('data' in error)) return false
  const { data } = error
  return typeof data === 'object' && data !== null && 'status' in data && data.status === 404
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

type FromJsonSchema = typeof import('@modelcontextprotocol/client').fromJsonSchema

/** Models allow letters, digits, `_` and `-`, at most 64 characters. */
function toolName(name: string, prefix: string | undefined): string {
  return `${prefix ? `${prefix}_` : ''}${name}`.replace(/[^\w-]/g, '_').slice(0, 64)
}

/** Throws if the server's JSON Schema is invalid. */
function compileSchema({ name, inputSchema }: McpTool, fromJsonSchema: FromJsonSchema): StandardSchemaV1 {
  try {
    return fromJsonSchema(withoutPatterns(inputSchema) as JsonSchemaType)
  } catch (error) {
    throw new Error(`the input schema of the tool "${name}" is invalid: ${messageOf(error)}`)
  }
}

function describeProgress({ name }: McpTool, { progress, total, message }: Progress): string {
  const part = total === undefined ? `${progress}` : `${progress} of ${total}`
  return `${name}: ${message ? `${message.slice(0, 1_000)} (${part})` : part}`
}

/** Converts a tool result to parts. */
function toParts({ content = [], structuredContent }: CallToolResult): readonly Part[] {
  const parts = content.map(toPart)
  if (structuredContent === undefined) return parts
  const data = { data: structuredContent as Json, mediaType: 'application/json' }
  // Servers repeat structured content as text, for older clients.
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
      return defined({ url: block.uri, filename: block.name, mediaType: block.mimeType || undefined })
    case 'resource': {
      const { uri, mimeType } = block.resource
      const file = defined({ filename: lastSegment(uri), mediaType: mimeType || undefined })
      return 'blob' in block.resource ? { raw: block.resource.blob, ...file } : { text: block.resource.text, ...file }
    }
  }
}

type Block = CallToolResult['content'][number]

/** The last segment of the path. */
function lastSegment(uri: string): string {
  return /([^/?#]+)\/?(?:[?#].*)?$/.exec(uri)?.[1] ?? uri
}

function isSameJson(one: string, other: string): boolean {
  try {
    return JSON.stringify(JSON.parse(one)) === other
  } catch {
    return false
  }
}
