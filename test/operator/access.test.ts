import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import { apiKey, custom, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { createOperatorClient } from '../../src/entries/operator.node.ts'
import { createOperatorClient as createWebClient } from '../../src/entries/operator.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { echo } from '../support/agents/echo-agent.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { logInByLink, operatorOf } from '../support/servers/operator-login.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const callerAuth = async () => ({
  schemes: { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('the-key-of-ada') }] }) },
})

async function start(options: ServeOptions = {}) {
  const directory = await temporaryDirectory()
  const { server } = await startTestServer(echo.run, { directory, ...options })
  return { server, directory, keyFile: join(directory, 'operator-key'), api: `${server.url}/console/api/v1` }
}

/** What `fetch` cannot send: a `Host` of choice. */
function statusFor(url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject).end()
  })
}

describe('the console without console.auth', () => {
  it.each([
    ['an open server', {}],
    ['a server that also accepts anonymous callers', { auth: { anonymous: true, schemes: {} } }],
    ['a server that answers to any host', { http: { hosts: 'any' } }],
    ['a server with auth', { auth: 'key' }],
  ] as const)('%s opens it by its key only', async (_, options) => {
    const auth = 'auth' in options ? await callerAuth() : undefined
    const { api, keyFile, server } = await start({
      ...('http' in options && { http: { hosts: 'any' } }),
      ...(auth && { auth: 'auth' in options && options.auth === 'key' ? auth : { ...auth, anonymous: true } }),
    })
    const { port } = server
    // A proxy on the same machine sends a loopback host and no forwarding header.
    const strangers: Record<string, string>[] = [
      {},
      { host: `127.0.0.1:${port}` },
      { host: `localhost:${port}` },
      { 'x-api-key': 'the-key-of-ada' },
      { cookie: 'parley-console=anything' },
    ]
    for (const path of ['/session', '/tasks', '/agents', '/inbox']) {
      for (const headers of strangers) expect(await statusFor(`${api}${path}`, headers)).toBe(401)
    }
    expect(await statusFor(`${server.url}/console/a2a/test/.well-known/agent-card.json`, {})).toBe(401)
    const key = (await readFile(keyFile, 'utf8')).trim()
    expect(key).toMatch(/^[\w-]{43}$/)
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
    expect(await statusFor(`${api}/tasks`, { 'x-api-key': key })).toBe(200)
    const operator = createOperatorClient({ url: `${server.url}/console`, keyFile })
    expect(await operator.session()).toMatchObject({ role: 'operator', principal: { id: 'operator' } })
  })

  it('an agent that was added with auth is neither run nor listed by callers without the key', async () => {
    const { server, api } = await start()
    const guarded = agent({ name: 'Guarded' }, () => 'secret')
    server.add(guarded, { mount: '/guarded', auth: await callerAuth() })
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const sent = await fetch(`${server.url}/console/a2a/guarded/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    })
    expect(sent.status).toBe(401)
    expect((await fetch(`${api}/agents`)).status).toBe(401)
    expect((await operatorOf(server).agents()).agents.map(({ id }) => id).sort()).toEqual(['guarded', 'test'])
  })

  it('says without the key where it is', async () => {
    const { api, keyFile } = await start()
    const response = await fetch(`${api}/session`)
    const { error } = (await response.json()) as {
      error: { schemes: readonly { name: string; description: string }[] }
    }
    expect(error.schemes).toMatchObject([{ name: 'operator-key', fields: 'secret' }])
    expect(error.schemes[0]?.description).toContain(keyFile)
  })

  it('the link logs in once, and its cookie belongs to this port', async () => {
    const { server, api } = await start()
    const link = server.consoleUrl ?? ''
    expect(link.startsWith(`${server.url}/console/?login=`)).toBe(true)
    expect((await fetch(link.replace(/.$/, '_'), { redirect: 'manual' })).headers.get('set-cookie')).toBeNull()
    const opened = await fetch(link, { redirect: 'manual' })
    expect([opened.status, opened.headers.get('location')]).toEqual([303, '/console/'])
    const cookie = opened.headers.get('set-cookie') ?? ''
    for (const text of [`parley-console-${server.port}=`, 'HttpOnly', 'SameSite=Strict', 'Path=/console']) {
      expect(cookie).toContain(text)
    }
    const [pair = ''] = cookie.split(';')
    const other = `parley-console-1=${'x'.repeat(43)}; ${pair}`
    expect((await fetch(`${api}/tasks`, { headers: { cookie: other } })).status).toBe(200)
    const again = await fetch(link, { redirect: 'manual' })
    expect([again.status, again.headers.get('set-cookie')]).toEqual([303, null])
  })

  it('keeps its key and its sessions over a restart, and closes a key file that others could read', async () => {
    const { server, keyFile, directory } = await start()
    const [key, cookie] = [await readFile(keyFile, 'utf8'), await logInByLink(server)]
    await server.close()
    await chmod(keyFile, 0o644)
    const again = await start({ directory })
    expect(await readFile(keyFile, 'utf8')).toBe(key)
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
    expect((await fetch(`${again.api}/session`, { headers: { cookie } })).status).toBe(200)
  })

  it('a key file without a key is an error that says what to do', async () => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, 'operator-key'), 'short')
    await expect(start({ directory })).rejects.toThrow('Remove the file')
  })

  it('logs in nowhere by the key of another server', async () => {
    const [one, two] = [await start(), await start()]
    const operator = createOperatorClient({ url: `${one.server.url}/console`, keyFile: two.keyFile })
    await expect(operator.tasks()).rejects.toMatchObject({ status: 401 })
    await expect(createWebClient({ url: `${one.server.url}/console` }).tasks()).rejects.toMatchObject({ status: 401 })
  })

  it('the client sends the key only to a server that asks for it', async () => {
    const { keyFile } = await start()
    const sent: unknown[] = []
    const url = await startHttpServer((incoming, outgoing) => {
      sent.push(incoming.headers['x-api-key'])
      const error = { code: 'unauthenticated', message: 'no', schemes: [{ name: 'token', fields: 'secret' }] }
      outgoing.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    await expect(createOperatorClient({ url, keyFile }).tasks()).rejects.toMatchObject({ status: 401 })
    expect(sent).toEqual([undefined])
  })
})

describe('what an operator does', () => {
  const keys = async () => [{ id: 'ada', hash: await hashApiKey('operator-key') }]

  it('streams end with the session and with its role', async () => {
    let role: 'operator' | 'viewer' | undefined = 'operator'
    const { server, api } = await start({
      console: { auth: { schemes: { key: apiKey({ keys: await keys() }) } }, roles: () => role },
    })
    const headers = { 'content-type': 'application/json', 'x-parley-console': '1' }
    const logIn = async () => {
      const body = JSON.stringify({ scheme: 'key', secret: 'operator-key' })
      const response = await fetch(`${api}/session`, { method: 'POST', headers, body })
      return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    }
    const open = (cookie: string) => fetch(`${api}/tasks/changes`, { headers: { cookie } })
    const first = await logIn()
    const stream = await open(first)
    await fetch(`${api}/session`, { method: 'DELETE', headers: { ...headers, cookie: first } })
    expect(await stream.text()).toBe('')
    const demoted = await open(await logIn())
    role = 'viewer'
    expect(await demoted.text()).toBe('')
    role = 'operator'
    const chatting = await logIn()
    const client = await connect(`${server.url}/console/a2a/test`, { fetch: withHeader('cookie', chatting) })
    expect((await client.send('hi')).text).toContain('hi')
  }, 20_000)

  it('a stream of the chat ends when the operator logs out', async () => {
    const { server } = await startTestServer(async (turn) => {
      await turn.status('working', 'Working')
      await turn.ask('Go on?')
    })
    const cookie = await logInByLink(server)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const post = (path: string, body: object) =>
      fetch(`${server.url}/console/a2a/test${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', cookie },
        body: JSON.stringify(body),
      })
    const sent = (await (await post('/message:send', { message })).json()) as { task: { id: string } }
    const stream = await post(`/tasks/${sent.task.id}:subscribe`, {})
    expect(stream.status).toBe(200)
    const ended = stream.text()
    await fetch(`${server.url}/console/api/v1/session`, {
      method: 'DELETE',
      headers: { 'x-parley-console': '1', cookie },
    })
    expect(await ended).toContain('TASK_STATE_INPUT_REQUIRED')
  }, 20_000)

  it('chats belong to an owner that no caller can have', async () => {
    const { server } = await startTestServer(async (turn) => void (await turn.status('completed', turn.text)), {
      auth: await callerAuth(),
      console: { auth: { schemes: { key: apiKey({ keys: await keys() }) } } },
    })
    const operatorFetch = (url: string, init: RequestInit) =>
      fetch(url, {
        ...init,
        headers: { ...Object.fromEntries(new Headers(init.headers)), 'x-api-key': 'operator-key' },
      })
    const chat = await connect(`${server.url}/console/a2a/test`, { fetch: operatorFetch })
    const { task } = await chat.send('from the operator ada')
    const caller = await connect(server.url, { fetch: withHeader('x-api-key', 'the-key-of-ada') })
    const { task: own } = await caller.send('from the caller ada')
    const listed = await Array.fromAsync(caller.listTasks())
    expect(listed.map(({ id }) => id)).toEqual([own?.id])
    await expect(caller.task(`${task?.id}`).get()).rejects.toMatchObject({ code: 'task-not-found' })
    const operator = createOperatorClient({ url: `${server.url}/console`, headers: { 'x-api-key': 'operator-key' } })
    expect((await operator.tasks()).tasks).toMatchObject([
      { taskId: own?.id, principal: { id: 'ada' } },
      { taskId: task?.id, principal: { id: 'ada', isOperator: true } },
    ])
  })

  it('a scheme of a caller cannot mark its principal as an operator', async () => {
    const scheme = custom({
      card: { type: 'http', scheme: 'bearer' },
      authenticate: () => ({ id: 'ada', isOperator: true }),
    })
    const { server } = await startTestServer(echo.run, { auth: { schemes: { token: scheme } } })
    await expect(
      connect(server.url, { fetch: withHeader('authorization', 'Bearer x') }).then((client) => client.send('hi')),
    ).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it('callers cannot set metadata.operator', async () => {
    const { server } = await startTestServer(({ message }) => JSON.stringify(message.metadata ?? null))
    const client = await connect(server.url)
    const reply = await client.send('x', { messageMetadata: { operator: 'olga', other: 1 } })
    expect(reply.text).toBe('{"other":1}')
  })
})

describe('the checks of an agent', () => {
  it.each(['doctor', 'conformance'] as const)(
    '%s calls the address that the server knows, not the one in Host',
    async (name) => {
      const calls: string[] = []
      const other = await startHttpServer((incoming, outgoing) => {
        calls.push(`${incoming.url}`)
        outgoing.writeHead(404).end()
      })
      const { server } = await start({ http: { hosts: 'any' } })
      const cookie = await logInByLink(server)
      const { host } = new URL(other)
      const headers = { host, cookie, 'x-parley-console': '1', 'content-type': 'application/json' }
      const text = await new Promise<string>((resolve, reject) => {
        const sent = request(
          `${server.url}/console/api/v1/agents/test/${name}`,
          { method: 'POST', headers },
          (response) => {
            let body = ''
            response.setEncoding('utf8').on('data', (chunk: string) => {
              body += chunk
            })
            response.on('end', () => resolve(body))
          },
        )
        sent.on('error', reject).end('{}')
      })
      expect(text).toContain('"type":"done"')
      expect(calls).toEqual([])
    },
    60_000,
  )

  it('the doctor does not call another port of this machine that a card names', async () => {
    const calls: string[] = []
    const other = await startHttpServer((incoming, outgoing) => {
      calls.push(`${incoming.url}`)
      outgoing.writeHead(404).end()
    })
    const { createCalls } = await import('../../src/serve/console-checks.ts')
    const { server } = await start()
    const own = await createCalls(server.url)
    onTestFinished(() => own.close())
    expect((await own.fetch(server.cardUrl, {})).status).toBe(200)
    await expect(own.fetch(`${other}/`, {})).rejects.toThrow(/this machine|loopback/)
    expect(calls).toEqual([])
  })
})

function withHeader(name: string, value: string) {
  return (url: string, init: RequestInit) =>
    fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), [name]: value } })
}
