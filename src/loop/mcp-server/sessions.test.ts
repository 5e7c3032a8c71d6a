import * as mcp from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { createSessions } from './sessions.ts'

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function post(session: string | undefined, method: string, params: object = {}): Request {
  const sessionHeader: Record<string, string> = session === undefined ? {} : { 'mcp-session-id': session }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return new Request('http://127.0.0.1/mcp', { method: 'POST', headers: { ...headers, ...sessionHeader }, body })
}

it('the least recently used session is closed when there are too many', async () => {
  const create = () => new mcp.McpServer({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
  const sessions = createSessions(mcp, create, 2)
  const initialize = async () => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
    const response = await sessions.fetch(post(undefined, 'initialize', params))
    await response.text()
    return response.headers.get('mcp-session-id') ?? ''
  }
  const listTools = async (session: string) => (await sessions.fetch(post(session, 'tools/list'))).status

  const [first, second] = [await initialize(), await initialize()]
  expect(await listTools(first)).toBe(200)
  const third = await initialize()
  expect([await listTools(first), await listTools(second), await listTools(third)]).toEqual([200, 404, 200])
  await sessions.close()
  expect(await listTools(first)).toBe(404)
})
