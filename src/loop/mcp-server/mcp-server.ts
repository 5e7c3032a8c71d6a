import type { ClientCapabilities, McpServer, ServerContext } from '@modelcontextprotocol/server'
import { defined, type JsonObject } from '../../core/base/json.ts'
import { aFunction, anObject, checkOptions, integer, listOf, type OptionChecks, text } from '../../core/base/options.ts'
import type { ConnectOptions } from '../../core/client/options.ts'
import { importOptional } from '../../core/protocol/lazy-import.ts'
import { connectAgents, type McpAgents } from './agents.ts'
import { callTool, type PendingQuestion } from './call-tool.ts'
import { createSessions } from './sessions.ts'
import { createSkillTools, type SkillTool } from './skill-tools.ts'

const dependency = ['createMcpServer()', '@modelcontextprotocol/server'] as const

/** Options of `createMcpServer`. */
export interface McpServerOptions {
  /** Name of the server. Defaults to the agent's name. */
  readonly name?: string
  readonly version?: string
  /** Instructions for the model. Defaults to the descriptions of the agents. */
  readonly instructions?: string
  /** Options for connecting to agents: credentials, `fetch`… */
  readonly connect?: ConnectOptions
  /**
   * Signs pending questions; at least 32 bytes. Defaults to a random key of the process: set one if several processes serve
   * HTTP together, or if answers must survive a restart.
   */
  readonly secret?: string
  /** Hosts whose web pages may call over HTTP, in addition to localhost. Callers other than browsers need no entry. */
  readonly allowedOrigins?: readonly string[]
  /** Maximum size of a tool result in bytes. Defaults to 10 MiB. */
  readonly maxResult?: number
  /** Receives all errors. Callers see only texts that are meant for them. */
  readonly onError?: (error: unknown) => void
}

const optionChecks: OptionChecks<McpServerOptions> = {
  name: text,
  version: text,
  instructions: text,
  connect: anObject,
  secret: text,
  allowedOrigins: listOf(text),
  maxResult: integer({ min: 1 }),
  onError: aFunction,
}

/** An MCP server for agents. */
export interface AgentMcpServer extends AsyncDisposable {
  /** Serves Streamable HTTP on any path. It does not authenticate callers: do that first. */
  fetch(request: Request): Promise<Response>
  /** Serves standard input and output of this process. Resolves when the client disconnects. */
  stdio(): Promise<void>
  close(): Promise<void>
}

/**
 * Creates an MCP server whose tools are the skills of agents.
 *
 * @example
 * const server = await createMcpServer('https://agent.example.com')
 * await server.stdio()
 */
export async function createMcpServer(agents: McpAgents, options: McpServerOptions = {}): Promise<AgentMcpServer> {
  checkOptions('createMcpServer', options, optionChecks)
  const { onError = () => {}, secret, maxResult = 10 * 2 ** 20, allowedOrigins = [] } = options
  const mcp = await loadMcp()
  const connected = await connectAgents(agents, options.connect ?? {})
  const tools = createSkillTools(connected, mcp.fromJsonSchema, onError)
  const cards = connected.map(({ client }) => client.card)
  const key = secret ?? crypto.getRandomValues(new Uint8Array(32))
  // Binds a question to the authenticated client, so that no other client can answer it.
  const bind = ({ http }: ServerContext) => http?.authInfo?.clientId ?? ''
  const state = mcp.createRequestStateCodec<PendingQuestion>({ key, bind, ttlSeconds: 24 * 60 * 60 })
  const instructions =
    options.instructions ?? cards.map(({ name, description }) => `${name}: ${description}`).join('\n')
  const info = {
    name: options.name ?? cards[0]?.name ?? 'agents',
    version: options.version ?? cards[0]?.version ?? '1.0.0',
  }

  function create(): McpServer {
    const server = new mcp.McpServer(info, {
      capabilities: { tools: {} },
      instructions,
      requestState: { verify: state.verify },
    })
    for (const tool of tools) register(server, tool)
    return server
  }

  function register(server: McpServer, tool: SkillTool): void {
    const { name, title, description, input, output, client } = tool
    const answerTool = tools.find((other) => other.client === client && other.skill === undefined)?.name ?? ''
    const config = defined({ title, description, inputSchema: input, outputSchema: output })
    server.registerTool(name, config, async (args, context) => {
      const capabilities = capabilitiesOf(context) ?? server.server.getClientCapabilities()
      const call = { tool, answerTool, input: args as JsonObject, context, capabilities }
      return await callTool({ ...call, mcp, state, maxResult, onError })
    })
  }

  function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities | undefined {
    const envelope: Record<string, unknown> = { ...mcpReq.envelope }
    return envelope[mcp.CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  }

  const handler = mcp.createMcpHandler(create, { legacy: 'reject', onerror: onError })
  const sessions = createSessions(mcp, create)
  const closing: (() => Promise<void>)[] = [handler.close, sessions.close]

  async function close(): Promise<void> {
    await Promise.all(closing.splice(0).map((end) => end()))
  }

  return {
    async fetch(request) {
      const origins = [...mcp.localhostAllowedOrigins(), ...allowedOrigins]
      const rejection = mcp.originValidationResponse(request, origins)
      if (rejection) return rejection
      return (await mcp.isLegacyRequest(request)) ? await sessions.fetch(request) : await handler.fetch(request)
    },
    async stdio() {
      const { serveStdio, StdioServerTransport } = await loadStdio()
      const transport = new StdioServerTransport()
      const { promise: disconnected, resolve } = Promise.withResolvers<void>()
      const handle = serveStdio(create, { transport, onerror: onError })
      const { onclose } = transport
      transport.onclose = () => {
        onclose?.()
        resolve()
      }
      closing.push(() => handle.close())
      await disconnected
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Loaded on first use: an optional dependency. */
async function loadMcp(): Promise<typeof import('@modelcontextprotocol/server')> {
  return await importOptional(() => import('@modelcontextprotocol/server'), ...dependency)
}

async function loadStdio(): Promise<typeof import('@modelcontextprotocol/server/stdio')> {
  return await importOptional(() => import('@modelcontextprotocol/server/stdio'), ...dependency)
}
