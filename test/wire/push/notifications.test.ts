import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { deferred } from '../../support/async.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { requestStreamIn } from '../../support/wire/dialect-streams.ts'

let going = deferred()
let received: string[] = []

async function run(turn: Turn): Promise<string> {
  received.push(turn.text)
  await going.promise
  return 'done'
}

const shared = shareTestServer(run)
const lenient = shareTestServer(run, { dialects: { lenientEnvelope: true } })

interface Call {
  readonly version?: string
  readonly method: string
  readonly params: object
}

async function notify({ version, method, params }: Call, { server } = shared()): Promise<Response> {
  return await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(version && { 'a2a-version': version }) },
    body: JSON.stringify({ jsonrpc: '2.0', method, params }),
  })
}

/** The states of all tasks, by the text of their first message. */
async function states(): Promise<Readonly<Record<string, string>>> {
  const { tasks } = await shared().wire.result<{ tasks: readonly Listed[] }>('ListTasks', { historyLength: 1 })
  return Object.fromEntries(tasks.map(({ history, status }) => [history?.[0]?.parts[0]?.text ?? '', status.state]))
}

interface Listed {
  readonly status: { readonly state: string }
  readonly history?: readonly { readonly parts: readonly { readonly text?: string }[] }[]
}

const sends = {
  'v0.1': (text: string): Call => ({
    method: 'tasks/send',
    params: { id: crypto.randomUUID(), message: { role: 'user', parts: [{ type: 'text', text }] } },
  }),
  'v0.2': (text: string): Call => ({
    version: '0.2',
    method: 'message/send',
    params: { message: { messageId: crypto.randomUUID(), role: 'user', parts: [{ kind: 'text', text }] } },
  }),
}

describe.each(['v0.1', 'v0.2'] as const)('a request without an id in %s', (dialect) => {
  it('a send is executed and answered with 204 before the agent has answered', async () => {
    going = deferred()
    received = []
    const response = await notify(sends[dialect](`send ${dialect}`))
    expect([response.status, await response.text(), response.headers.get('content-type')]).toEqual([204, '', null])
    await expect.poll(() => received).toEqual([`send ${dialect}`])
    going.resolve()
    await expect.poll(async () => (await states())[`send ${dialect}`]).toBe('TASK_STATE_COMPLETED')
  })

  it('a stream is answered with 204 after its first event, and its task continues', async () => {
    going = deferred()
    const options = { id: null, headers: { accept: 'text/event-stream' } }
    const response = await requestStreamIn([dialect, 'JSONRPC'], shared().server.url, `stream ${dialect}`, options)
    expect([response.status, await response.text()]).toEqual([204, ''])
    going.resolve()
    await expect.poll(async () => (await states())[`stream ${dialect}`]).toBe('TASK_STATE_COMPLETED')
  })

  it('the caller gets no errors about a known method', async () => {
    const { method, version } = sends[dialect]('')
    expect((await notify({ method, params: {}, ...(version && { version }) })).status).toBe(204)
    expect((await notify({ method: 'tasks/get', params: { id: 'none' }, version: dialect.slice(1) })).status).toBe(204)
  })

  it('lenientEnvelope answers the request with the id null', async () => {
    going = deferred()
    going.resolve()
    const response = await notify(sends[dialect]('answer'), lenient())
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ id: null, result: {} })
  })
})

it('later versions reject a request without an id, and run nothing', async () => {
  received = []
  const sent = { ...sends['v0.2']('not run'), version: '0.3' }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'not run' }] }
  for (const call of [sent, { version: '1.0', method: 'SendMessage', params: { message } }]) {
    const response = await notify(call)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32600 } })
  }
  expect(received).toEqual([])
})
