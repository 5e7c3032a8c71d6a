import type { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'

export interface Sessions {
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

/**
 * Serves clients from before MCP 2026-07-28 over HTTP. They need a session to be asked and to cancel, since both go
 * another way than the call; the newest version needs none. If there are too many, whoever was quiet the longest has to
 * begin anew.
 */
export function createSessions(
  mcp: typeof import('@modelcontextprotocol/server'),
  create: () => McpServer,
  maxSessions = 1_000,
): Sessions {
  const sessions = new Map<string, Transport>()

  async function begin(): Promise<Transport> {
    const transport: Transport = new mcp.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => keep(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    })
    await create().connect(transport)
    return transport
  }

  /** The one that was used last is the last. */
  function keep(id: string, transport: Transport): void {
    sessions.delete(id)
    sessions.set(id, transport)
    const [oldest] = sessions
    if (sessions.size <= maxSessions || !oldest) return
    sessions.delete(oldest[0])
    void oldest[1].close()
  }

  return {
    async fetch(request) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) return await (await begin()).handleRequest(request)
      const transport = sessions.get(id)
      if (!transport) return unknownSession()
      keep(id, transport)
      return await transport.handleRequest(request)
    },
    async close() {
      const open = [...sessions.values()]
      sessions.clear()
      await Promise.all(open.map((transport) => transport.close()))
    },
  }
}

type Transport = WebStandardStreamableHTTPServerTransport

/** Upon which clients begin a new one. */
function unknownSession(): Response {
  const error = { code: -32001, message: 'There is no such session: begin a new one.' }
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 })
}
