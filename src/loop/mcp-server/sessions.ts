import type { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'

export interface Sessions {
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

/**
 * Serves clients of MCP versions before 2026-07-28 over HTTP. Their questions and cancellations use other requests than the
 * call, so they need a session. If there are too many sessions, the least recently used one is closed.
 */
export function createSessions(
  mcp: typeof import('@modelcontextprotocol/server'),
  create: () => McpServer,
  maxSessions = 1_000,
): Sessions {
  const sessions = new Map<string, Transport>()

  async function open(): Promise<Transport> {
    const transport: Transport = new mcp.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => touch(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    })
    await create().connect(transport)
    return transport
  }

  /** Moves the session to the end, so that the map stays in order of last use. */
  function touch(id: string, transport: Transport): void {
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
      if (id === null) return await (await open()).handleRequest(request)
      const transport = sessions.get(id)
      if (!transport) return unknownSession()
      touch(id, transport)
      return await transport.handleRequest(request)
    },
    async close() {
      const transports = [...sessions.values()]
      sessions.clear()
      await Promise.all(transports.map((transport) => transport.close()))
    },
  }
}

type Transport = WebStandardStreamableHTTPServerTransport

/** Clients respond to 404 by starting a new session. */
function unknownSession(): Response {
  const error = { code: -32001, message: 'Unknown session: start a new one.' }
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 })
}
