/** A faulty MCP server: it returns the tools of its first argument (JSON) without validation, in an endless list. */
import { createInterface } from 'node:readline'

const tools = JSON.parse(process.argv[2] ?? '[]')

function respond(id: unknown, result: object): void {
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const { protocolVersion } = params
    respond(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bad', version: '1' } })
  }
  if (method === 'tools/list') respond(id, { tools, nextCursor: `${Number(params?.cursor ?? 0) + 1}` })
  if (method === 'tools/call') {
    const structured = { structuredContent: { text: 'a'.repeat(60) } }
    const hasOutput = tools.some((tool: { readonly outputSchema?: unknown } | null) => tool?.outputSchema)
    respond(id, { content: [{ type: 'text', text: `called ${params.name}` }], ...(hasOutput && structured) })
  }
}
