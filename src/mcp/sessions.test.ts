import * as mcp from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { createSessions } from './sessions.ts'

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function post(session: string | undefined, method: string, params: object = {}): Request {
  const named: Record<string, string> = session === undefined ? {} : { 'mcp-session-id': session }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return new Request('http://127.0.0.1/mcp', { method: 'POST', headers: { ...headers, ...named }, body })
}

it('forgets the session that was quiet the longest when there are too many', async () => {
  const create = () => new mcp.McpServer({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
  const sessions = createSessions(mcp, create, 2)
  const begin = async () => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
    const response = await sessions.fetch(post(undefined, 'initialize', params))
    await response.text()
    return response.headers.get('mcp-session-id') ?? ''
  }
  const ask = async (session: string) => (await sessions.fetch(post(session, 'tools/list'))).status

  const [first, second] = [await begin(), await begin()]
  expect(await ask(first)).toBe(200)
  const third = await begin()
  expect([await ask(first), await ask(second), await ask(third)]).toEqual([200, 404, 200])
  await sessions.close()
  expect(await ask(first)).toBe(404)
})
