import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { createOperatorClient } from '../../src/entries/operator.node.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { startRegistryServer } from '../registry/registry-fixtures.ts'
import { silentLogger } from '../support/logger.ts'
import { shareCli } from '../support/processes/cli.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const { run, start: startCli } = shareCli()

const worker = agent({ name: 'Worker' }, async (turn) => {
  turn.log.info({}, 'the worker works')
  if (turn.text === 'ask') await turn.ask('Which colour?')
  if (turn.text === 'login') await turn.requireAuth('github')
  await turn.status('completed', `Done: ${turn.text}`)
})

async function start(options: ServeOptions = {}) {
  const directory = await temporaryDirectory()
  const server = await serve(worker, {
    ...{ signals: false, directory, logger: silentLogger, drainDeadline: 0 },
    ...options,
  })
  onTestFinished(() => server.close())
  return { url: server.url, keyFile: join(directory, 'operator-key') }
}

describe('parley operator', () => {
  it('lists, shows, answers and cancels tasks of a running server', async () => {
    const { url, keyFile } = await start()
    const client = await connect(url)
    await client.send('one')
    void client.send('ask').catch(() => {})
    const operator = createOperatorClient({ url: `${url}/console`, keyFile })
    await expect.poll(async () => (await operator.inbox()).items.length, { timeout: 10_000 }).toBe(1)
    const server = ['--server', url, '--key-file', keyFile]
    const tasks = await run(['operator', 'tasks', ...server, '-o', 'json'])
    expect([tasks.code, tasks.json().total]).toEqual([0, 2])
    const inbox = await run(['operator', 'inbox', ...server])
    expect(inbox.stdout).toContain('Which colour?')
    const [waiting] = (await operator.inbox()).items
    const task = [waiting?.agent ?? '', waiting?.taskId ?? '']
    expect((await run(['operator', 'answer', ...task, '--text', 'blue', ...server])).code).toBe(0)
    await expect.poll(async () => (await operator.tasks({ state: 'completed' })).total).toBe(2)
    const shown = await run(['operator', 'task', ...task, ...server])
    expect(shown.stdout).toContain('completed')
    const events = await run(['operator', 'events', ...task, ...server, '-o', 'json'])
    expect(events.json().events[0]).toMatchObject({ generation: 1, by: 'caller' })
    const canceled = await run(['operator', 'cancel', ...task, ...server])
    expect(canceled.code).toBe(1)
    const overview = await run(['operator', 'overview', ...server])
    expect(overview.stdout).toContain('2 started, 2 completed, 0 failed')
    expect((await run(['operator', 'webhooks', ...server])).stdout).toContain('Total: 0')
  })

  it('shows agents, the session, a task in other versions, its calls, its log and its raw requests', async () => {
    const { url, keyFile } = await start({ push: {} })
    const server = ['--server', url, '--key-file', keyFile]
    const json = async (args: readonly string[], input?: string) => {
      const result = await run(['operator', ...args, ...server, '-o', 'json'], input === undefined ? {} : { input })
      expect([result.code, result.stderr]).toEqual([0, ''])
      return result
    }
    expect((await json(['session'])).json()).toMatchObject({ role: 'operator' })
    expect((await json(['agents'])).json().agents).toMatchObject([{ id: 'worker' }])
    expect((await json(['cards', 'worker'])).json().signature.state).toBe('unsigned')
    const request = await json(['wire', 'compose', 'worker', 'sendMessage', '--text', 'raw', '--a2a-version', '0.3'])
    const frames = (await json(['wire', 'send'], request.stdout)).lines()
    expect(frames.map(({ type }) => type)).toEqual(['head', 'chunk', 'end'])
    expect(frames[1].text).toContain('Done: raw')
    const [row] = (await json(['tasks'])).json().tasks
    const task = ['worker', row.taskId]
    expect((await json(['seen-as', ...task, '0.3'])).json()).toMatchObject({ dialect: '0.3', json: { kind: 'task' } })
    expect((await json(['calls', ...task])).json()).toEqual({ calls: [] })
    expect((await json(['log', ...task])).json().lines).toContainEqual(
      expect.objectContaining({ level: 'info', message: 'the worker works' }),
    )
    expect((await json(['event', ...task, '1'])).json()).toMatchObject({ generation: 1, type: 'message' })
    const wrong = await run(['operator', 'seen-as', ...task, '2.0', ...server])
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('0.3-house')])
    const empty = await run(['operator', 'wire', 'send', ...server], { input: 'x' })
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('wire compose')])
    const mesh = await run(['operator', 'mesh', ...server])
    expect([mesh.code, mesh.stderr]).toEqual([1, expect.stringContaining('error:')])
  })

  it('follows tasks, events and the deliveries of a receiver until Ctrl-C', async () => {
    const { url, keyFile } = await start({ push: {} })
    const client = await connect(url)
    const server = ['--server', url, '--key-file', keyFile]
    const tasks = startCli(['operator', 'tasks', '--follow', ...server])
    const receiver = startCli(['operator', 'receiver', ...server, '-o', 'json'])
    const [, address = ''] = await receiver.until(/"url":"([^"]+)"/)
    const [, token = ''] = await receiver.until(/"token":"([^"]+)"/)
    void client.send('ask').catch(() => {})
    await tasks.until(/input-required/)
    const operator = createOperatorClient({ url: `${url}/console`, keyFile })
    const [waiting] = (await operator.inbox()).items
    if (!waiting) throw new Error('nothing waits')
    const push = { taskId: waiting.taskId, url: address, token }
    await client.service.createPushConfig(push, { principal: { id: 'x' }, signal: new AbortController().signal })
    const events = startCli(['operator', 'events', waiting.agent, waiting.taskId, '--follow', ...server])
    await events.until(/Event: 2 /)
    await operator.answer(waiting, { parts: [{ text: 'blue' }] })
    await events.until(/Event: 5 /)
    await receiver.until(/Its token is right/)
    for (const follower of [tasks, receiver, events]) {
      follower.child.kill('SIGINT')
      expect((await follower.result).code).toBe(0)
    }
  })

  it('sends the credentials that a task waits for, and never shows them', async () => {
    const { url, keyFile } = await start()
    const client = await connect(url)
    await client.send('login')
    const operator = createOperatorClient({ url: `${url}/console`, keyFile })
    const [waiting] = (await operator.inbox()).items
    const task = [waiting?.agent ?? '', waiting?.taskId ?? '']
    const without = await run(['operator', 'answer', ...task, '--server', url, '--key-file', keyFile])
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('--credentials')])
    const env = { A2ACLI_CREDENTIALS: 'ghp-0123456789' }
    const answered = await run(['operator', 'answer', ...task, '--server', url, '--key-file', keyFile, '--debug'], {
      env,
    })
    expect(answered.code).toBe(0)
    expect(answered.stdout + answered.stderr).not.toContain('ghp-0123456789')
    await expect.poll(async () => (await operator.tasks({ state: 'completed' })).total).toBe(1)
  })

  it('lists, adds and probes the agents of a registry', async () => {
    const { url } = await start()
    const registry = await startRegistryServer()
    const server = ['--server', registry.url, '--key-file', registry.keyFile]
    const added = await run(['operator', 'registry', 'add', url, ...server, '-o', 'json'])
    expect(added.json()).toMatchObject({ name: 'Worker', health: 'up' })
    const probed = await run(['operator', 'registry', 'probe', added.json().id, ...server])
    expect([probed.code, probed.stdout]).toEqual([0, expect.stringContaining('up in 1 of 1 probes')])
    const listed = await run(['operator', 'registry', 'list', '--search', 'worker', ...server])
    expect(listed.stdout).toContain(`a2a up ${url}`)
  })

  it('explains missing credentials and servers that cannot be reached', async () => {
    const keys = [{ id: 'olga', hash: await hashApiKey('operator-key') }]
    const { url } = await start({ console: { auth: { schemes: { key: apiKey({ keys }) } } } })
    const refused = await run(['operator', 'tasks', '--server', url])
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('--api-key')])
    const accepted = await run(['operator', 'tasks', '--server', url], { env: { A2ACLI_API_KEY: 'operator-key' } })
    expect(accepted.code).toBe(0)
    const unreachable = await run(['operator', 'tasks', '--server', 'http://127.0.0.1:9'])
    expect(unreachable.code).toBe(3)
  })
})

describe('parley console', () => {
  it('parley console shows a foreign agent, only to the browser with the one-time token', async () => {
    const { url } = await start({ console: false })
    await (await connect(url)).send('before')
    const relay = startCli(['console', url, '-o', 'json'])
    const [, address = ''] = await relay.until(/"url":"([^"]+)"/)
    const { origin } = new URL(address)
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:/)
    const api = `${origin}/console/api/v1`
    expect((await fetch(`${api}/agents`)).status).toBe(401)
    const wrong = await fetch(`${origin}/console/?token=wrong`, { redirect: 'manual' })
    expect(wrong.headers.get('set-cookie')).toBeNull()
    const opened = await fetch(address, { redirect: 'manual' })
    expect([opened.status, opened.headers.get('location')]).toEqual([303, '/console/'])
    const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    expect(opened.headers.get('set-cookie')).toContain('HttpOnly; SameSite=Strict')
    const again = await fetch(address, { redirect: 'manual' })
    expect(again.headers.get('set-cookie')).toBeNull()

    const operator = createOperatorClient({ url: `${origin}/console`, headers: { cookie } })
    const { agents } = await operator.agents()
    expect(agents).toMatchObject([{ id: 'worker', name: 'Worker' }])
    const { tasks } = await operator.tasks()
    expect(tasks).toMatchObject([{ phase: 'completed', summary: 'Done: before' }])
    const [task] = tasks
    if (!task) throw new Error('no task')
    expect((await operator.task(task)).task.status.state).toBe('completed')
    expect((await operator.seenAs(task, '0.3')).json).toHaveProperty('kind', 'task')
    const withCookie = (input: string, init: RequestInit) =>
      fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), cookie } })
    const browser = await connect(`${origin}/console/a2a/worker`, { fetch: withCookie })
    expect((await browser.send('through the relay')).text).toBe('Done: through the relay')
    relay.child.kill('SIGTERM')
    await relay.result
  })

  it('opens without an agent, for its first page asks for one', async () => {
    const relay = startCli(['console', '-o', 'json'])
    const [, address = ''] = await relay.until(/"url":"([^"]+)"/)
    const opened = await fetch(address, { redirect: 'manual' })
    const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const operator = createOperatorClient({ url: `${new URL(address).origin}/console`, headers: { cookie } })
    expect(await operator.agents()).toEqual({ agents: [] })
    expect((await operator.session()).server.features).toContain('connect')
    relay.child.kill('SIGTERM')
    await relay.result
  })
})
