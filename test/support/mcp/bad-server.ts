/** A server by hand, as bad as servers can be. What it has is the first argument, as JSON. */
import { createInterface } from 'node:readline'

const tools = JSON.parse(process.argv[2] ?? '[]')

function answer(id: unknown, result: object): void {
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const { protocolVersion } = params
    answer(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bad', version: '1' } })
  }
  // Its list has no end.
  if (method === 'tools/list') answer(id, { tools, nextCursor: `${Number(params?.cursor ?? 0) + 1}` })
  if (method === 'tools/call') answer(id, { content: [{ type: 'text', text: `called ${params.name}` }] })
}
