import { expect, it } from 'vitest'
import { shareTestServer, startTestServer } from '../../support/servers/test-server.ts'

const get = shareTestServer((turn) => `You said ${turn.text}`)

const post = async (path: string, body: unknown) => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${get().server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, body: await response.json() }
}

it.each(['/tasks/send', '/a2a/tasks/send'])('a task of python-a2a is answered at %s with an artifact', async (path) => {
  const message = { content: { text: 'hi', type: 'text' }, role: 'user', message_id: 'm' }
  const params = { id: crypto.randomUUID(), sessionId: 's', message }
  const { body } = await post(path, { jsonrpc: '2.0', id: 1, method: 'tasks/send', params })
  expect(body.result).toMatchObject({
    id: params.id,
    status: { state: 'completed' },
    artifacts: [{ parts: [{ type: 'text', text: 'You said hi' }] }],
  })
})

it('a function call of python-a2a reaches the agent as data', async () => {
  const { server } = await startTestServer((turn) => turn.message.parts)
  const content = { type: 'function_call', name: 'add', parameters: [] }
  const params = { id: crypto.randomUUID(), message: { content, role: 'user', message_id: 'm' } }
  const response = await fetch(`${server.url}/tasks/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/send', params }),
  })
  expect(await response.json()).toMatchObject({ result: { artifacts: [{ parts: [{ type: 'data', data: content }] }] } })
})

it('a message without a JSON-RPC request is refused with the request that it needs', async () => {
  const { body } = await post('/', { content: { text: 'hi', type: 'text' }, role: 'user', message_id: 'm' })
  expect(body.error.code).toBe(-32600)
  expect(body.error.message).toContain('method: "SendMessage", params: { message }')
})

it('parts without a kind in a method of 0.3, as fasta2a 2 sends them, are answered in both forms', async () => {
  const message = { role: 'user', messageId: crypto.randomUUID(), parts: [{ text: 'hi' }] }
  const { body } = await post('/', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } })
  const answer = { kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'You said hi' }] }
  expect(body.result).toMatchObject({ ...answer, message: answer })
  const exact = { ...message, kind: 'message', messageId: crypto.randomUUID(), parts: [{ kind: 'text', text: 'hi' }] }
  const plain = await post('/', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message: exact } })
  expect(plain.body.result).toMatchObject(answer)
  expect(plain.body.result).not.toHaveProperty('message')
})

it('fasta2a 2 gets files as 1.0 has them', async () => {
  const file = { name: 'a.bin', content: new Uint8Array([1, 2]), mediaType: 'application/x-a' }
  const { server } = await startTestServer(() => file)
  const message = { role: 'user', messageId: crypto.randomUUID(), parts: [{ text: 'hi' }] }
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
  })
  const bare = { raw: 'AQI=', filename: 'a.bin', mediaType: 'application/x-a' }
  expect(await response.json()).toMatchObject({ result: { message: { parts: [bare] } } })
})

it('a GET of the path where python-a2a posts its tasks still asks for a task', async () => {
  const response = await fetch(`${get().server.url}/tasks/send`, { headers: { 'a2a-version': '1.0' } })
  expect(response.status).toBe(404)
})

it.each([
  ['/v1/tasks/none', 'TaskNotFoundError'],
  ['/tasks/none', 'TaskNotFoundError'],
  ['/v1/card', 'UnsupportedOperationError'],
])('the Java SDKs get an error of %s as the class that they look for', async (path, name) => {
  const read = async (headers: Record<string, string>) => {
    const response = await fetch(`${get().server.url}${path}`, { headers })
    return { status: response.status, body: await response.json() }
  }
  const plain = await read({ 'user-agent': 'another/1' })
  const java = await read({ 'user-agent': 'Java-http-client/17.0.15' })
  expect(java).toEqual({
    status: plain.status,
    body: expect.objectContaining({ error: `io.a2a.spec.${name}`, message: plain.body.error.message }),
  })
  // A client that names its version, as 1.0 requires, reads what 1.0 defines.
  const version = path.startsWith('/v1') ? '0.3' : '1.0'
  const exact = await read({ 'user-agent': 'Java-http-client/17.0.15', 'a2a-version': version })
  expect(exact.body).toMatchObject({ error: { message: plain.body.error.message } })
})

it('the Java SDKs get the error of a stream that cannot start in the same form', async () => {
  const headers = { 'content-type': 'application/json', 'user-agent': 'Java-http-client/17.0.15' }
  const response = await fetch(`${get().server.url}/message:stream`, { method: 'POST', headers, body: '{' })
  expect(await response.json()).toMatchObject({ error: 'io.a2a.spec.JSONParseError' })
})
