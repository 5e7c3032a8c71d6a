import type { ClientCapabilities, McpServer, ServerContext } from '@modelcontextprotocol/server'
import type { JsonObject } from '../base/json.ts'
import type { ConnectOptions } from '../client/options.ts'
import { importOptional } from '../protocol/lazy-import.ts'
import { type McpAgents, openAgents } from './agents.ts'
import { type Asked, callTool } from './call-tool.ts'
import { createSessions } from './sessions.ts'
import { type SkillTool, skillToolsOf } from './skill-tools.ts'

const missing = ['mcpServer()', '@modelcontextprotocol/server'] as const

export interface McpServerOptions {
  /** Of the server. That of the agent by default. */
  readonly name?: string
  readonly version?: string
  /** For the model. What the agents say of themselves by default. */
  readonly instructions?: string
  /** How agents that are given by an address are connected: credentials, `fetch`… */
  readonly connect?: ConnectOptions
  /**
   * By which questions that wait for an answer are signed, 32 bytes at least. Of the process by default: give one if
   * several processes serve HTTP together, or answers must survive a restart.
   */
  readonly secret?: string
  /** The hosts whose pages may call over HTTP, besides those of this machine. Callers that are no page need nothing. */
  readonly allowedOrigins?: readonly string[]
  /** How many bytes the result of a tool may have. 10 MiB by default. */
  readonly maxResult?: number
  /** Told what went wrong. Callers learn of it what was written for them. */
  readonly onError?: (error: unknown) => void
}

/** Agents as a server of MCP. */
export interface AgentMcpServer extends AsyncDisposable {
  /** Serves streamable HTTP, whatever the path. Who may call is to be asked before. */
  fetch(request: Request): Promise<Response>
  /** Serves the standard input and output of this process; resolves when the other side has left. */
  stdio(): Promise<void>
  close(): Promise<void>
}

/** Makes tools of MCP of the skills of agents. */
export async function mcpServer(agents: McpAgents, options: McpServerOptions = {}): Promise<AgentMcpServer> {
  const { onError = () => {}, secret, maxResult = 10 * 2 ** 20, allowedOrigins = [] } = options
  const mcp = await loadMcp()
  const opened = await openAgents(agents, options.connect ?? {})
  const tools = skillToolsOf(opened, mcp.fromJsonSchema, onError)
  const cards = opened.map(({ client }) => client.card)
  const key = secret ?? crypto.getRandomValues(new Uint8Array(32))
  // Whoever is known to the one who put us up is bound to the question.
  const bind = ({ http }: ServerContext) => http?.authInfo?.clientId ?? ''
  const state = mcp.createRequestStateCodec<Asked>({ key, bind, ttlSeconds: 24 * 60 * 60 })
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
    const answerTool = tools.find((each) => each.client === client && each.skill === undefined)?.name ?? ''
    const config = { title, description, inputSchema: input, ...(output && { outputSchema: output }) }
    server.registerTool(name, config, async (given, context) => {
      const capabilities = capabilitiesIn(context) ?? server.server.getClientCapabilities()
      const about = { tool, answerTool, given: given as JsonObject, context, capabilities }
      return await callTool({ ...about, mcp, state, maxResult, onError })
    })
  }

  function capabilitiesIn({ mcpReq }: ServerContext): ClientCapabilities | undefined {
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
      const allowed = [...mcp.localhostAllowedOrigins(), ...allowedOrigins]
      const refused = mcp.originValidationResponse(request, allowed)
      if (refused) return refused
      return (await mcp.isLegacyRequest(request)) ? await sessions.fetch(request) : await handler.fetch(request)
    },
    async stdio() {
      const { serveStdio, StdioServerTransport } = await loadStdio()
      const transport = new StdioServerTransport()
      const { promise: left, resolve } = Promise.withResolvers<void>()
      const handle = serveStdio(create, { transport, onerror: onError })
      const { onclose } = transport
      transport.onclose = () => {
        onclose?.()
        resolve()
      }
      closing.push(() => handle.close())
      await left
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Loaded for those who use it. */
async function loadMcp(): Promise<typeof import('@modelcontextprotocol/server')> {
  return await importOptional(() => import('@modelcontextprotocol/server'), ...missing)
}

async function loadStdio(): Promise<typeof import('@modelcontextprotocol/server/stdio')> {
  return await importOptional(() => import('@modelcontextprotocol/server/stdio'), ...missing)
}
