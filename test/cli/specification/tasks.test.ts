import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../../support/processes/cli.ts'
import { closedPort, respondWith, startHttpServer } from '../../support/servers/http-server.ts'
import { startRecordingPeer, task } from '../../support/servers/recording-peer.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, push: {} })
const run = (...args: readonly string[]) => cli.run([...args, '-a', demo().server.url])
const start = async (text: string) => (await run('send', text, '--async', '-o', 'json')).json().task
const idsOf = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => id)

describe('task', () => {
  it('TASK_GET_001: a task is shown with its state and artifacts, and --history adds messages', async () => {
    const { task: counted } = (await run('send', 'count', '-o', 'json')).json()
    const [text, json, history, talk] = await Promise.all([
      run('task', 'get', counted.id),
      run('task', 'get', '--task-id', counted.id, '-o', 'json'),
      run('task', 'get', counted.id, '--history', '1', '-o', 'json'),
      run('task', 'get', counted.id, '--history', '5'),
    ])
    expect(text.field('State')).toBe('TASK_STATE_COMPLETED')
    expect(text.stdout).toContain('Text:\none\ntwo\nthree\n\n')
    expect(json.json()).toMatchObject({ id: counted.id, artifacts: [{ name: 'numbers' }] })
    expect(json.json()).not.toHaveProperty('history')
    expect(history.json().history).toHaveLength(1)
    expect(talk.stdout).toMatch(/^History: ROLE_USER \S+\nText: count$/m)
    const peer = await startRecordingPeer({ result: () => task('COMPLETED') })
    await cli.run(['task', 'get', 't-1', '-a', peer.origin, '--history', '7'])
    expect(peer.calls()[0]?.body.params).toMatchObject({ id: 't-1', historyLength: 7 })
    const missing = await cli.run(['task', 'get', '-a', demo().server.url])
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Which task?') })
  })

  it('TASK_CANCEL_001: canceling reports the state, is idempotent, and fails for a task that has ended', async () => {
    const { id } = await start('wait')
    const first = await run('task', 'cancel', id)
    expect(first.field('State')).toBe('TASK_STATE_CANCELED')
    const second = await run('task', 'cancel', id, '-o', 'json')
    expect([second.code, second.json().status.state]).toEqual([0, 'TASK_STATE_CANCELED'])
    const { task: ended } = (await run('send', 'count', '-o', 'json')).json()
    const refused = await run('task', 'cancel', ended.id, '-o', 'json')
    expect(refused.code).toBe(1)
    expect(refused.json().error).toMatchObject({ code: 'TaskNotCancelableError', a2aCode: -32002 })
  })

  it('TASK_LIST_001: tasks are listed by pages, and filtered by state and context', async () => {
    const { contextId } = await start('wait')
    const tasks = await Promise.all(
      ['count', 'fail', 'ask'].map(
        async (text) => (await run('send', text, '--context-id', contextId, '-o', 'json')).json().task,
      ),
    )
    const list = (...args: readonly string[]) => run('task', 'list', '--context-id', contextId, '-o', 'json', ...args)
    const [page, failed, all, text] = await Promise.all([
      list('--page-size', '2'),
      list('--status', 'failed'),
      list('--stream', '--page-size', '1'),
      run('task', 'list', '--context-id', contextId, '--status', 'TASK_STATE_INPUT_REQUIRED'),
    ])
    expect(page.json()).toMatchObject({ totalSize: 4, pageSize: 2, nextPageToken: expect.stringMatching(/./) })
    const next = await list('--page-size', '2', '--page-token', page.json().nextPageToken)
    const ids = idsOf([...page.json().tasks, ...next.json().tasks])
    expect(new Set(ids).size).toBe(4)
    expect(idsOf(failed.json().tasks)).toEqual([tasks[1].id])
    expect(new Set(idsOf(all.lines()))).toEqual(new Set(ids))
    expect(text.field('Task')).toBe(tasks[2].id)
    expect((await run('task', 'list', '--status', 'nonsense')).code).toBe(2)
  })

  it('TASK_SUBSCRIBE_001: a subscription follows a running task until it has ended', async () => {
    const { id } = await start('wait')
    const args = ['task', 'subscribe', id, '-a', demo().server.url]
    const [text, waiting] = [cli.start(args, { input: '' }), cli.start([...args, '-o', 'json'], { input: '' })]
    await text.until(/State: TASK_STATE_WORKING/)
    await run('task', 'cancel', id)
    const [followed, final] = await Promise.all([text.result, waiting.result])
    expect([followed.code, final.code]).toEqual([0, 0])
    expect(followed.stdout).toMatch(new RegExp(`^Task: ${id}\\n`))
    expect(followed.stdout).toMatch(/State: TASK_STATE_CANCELED\n$/)
    expect(final.json()).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
  })

  it('TASK_SUBSCRIBE_002: the first event is the task without an extra get, and a broken stream is resumed', async () => {
    let subscriptions = 0
    const peer = await startRecordingPeer({
      result: () => task('COMPLETED'),
      handle({ body }, response) {
        if (body?.method !== 'SubscribeToTask') return false
        const state = ++subscriptions === 1 ? 'WORKING' : 'COMPLETED'
        const data = JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { task: task(state) } })
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${data}\n\n`)
        if (state === 'WORKING') setTimeout(() => response.destroy(), 300)
        else response.end()
        return true
      },
    })
    const { code, lines } = await cli.run(['task', 'subscribe', 't-1', '-a', peer.origin, '-o', 'json', '--stream'])
    expect([code, subscriptions]).toEqual([0, 2])
    expect(peer.calls()[0]?.body.method).toBe('SubscribeToTask')
    expect(lines()[0]).toMatchObject({ task: { id: 't-1', status: { state: 'TASK_STATE_WORKING' } } })
    expect(JSON.stringify(lines().at(-1))).toContain('TASK_STATE_COMPLETED')
  })

  it('DOWNLOAD_001: artifacts become files inside the folder, and existing files are kept', async () => {
    const folder = await temporaryDirectory()
    const remote = await startHttpServer(respondWith(200, 'by url', { 'content-type': 'text/plain' }))
    const raw = (text: string, filename: string) => ({ raw: Buffer.from(text).toString('base64'), filename })
    const evil = [raw('evil', '../../outside.txt'), raw('again', 'outside.txt'), { data: { n: 1 } }]
    const artifacts = [
      { artifactId: 'a', name: 'notes', parts: [{ text: 'one ' }, { text: 'two' }] },
      { artifactId: 'b', parts: evil },
      { artifactId: 'c', parts: [{ url: `${remote}/deep/linked.txt` }] },
    ]
    const peer = await startRecordingPeer({ result: () => task('COMPLETED', { artifacts }) })
    const args = ['task', 'download', 't-1', '-a', peer.origin, '--dir', join(folder, 'in')]
    const saved = await cli.run([...args, '-o', 'json'])
    expect(saved.code).toBe(0)
    expect(saved.json()).toMatchObject({ taskId: 't-1', contextId: 'c-1', state: 'TASK_STATE_COMPLETED' })
    const names = ['b-3.json', 'linked.txt', 'notes.txt', 'outside-2.txt', 'outside.txt']
    expect(await readdir(folder)).toEqual(['in'])
    expect((await readdir(join(folder, 'in'))).toSorted()).toEqual(names)
    expect(saved.json().files).toHaveLength(names.length)
    expect(await readFile(join(folder, 'in', 'notes.txt'), 'utf8')).toBe('one two')
    expect(await readFile(join(folder, 'in', 'linked.txt'), 'utf8')).toBe('by url')
    const again = await cli.run(args)
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') })
    const forced = await cli.run([...args, '--force', '--artifact', 'notes'])
    expect([forced.code, forced.field('State')]).toEqual([0, 'TASK_STATE_COMPLETED'])
  })
})

describe('polling', () => {
  it('TASK_POLL_001: task get asks once, and with --wait or --watch until the task has ended', async () => {
    const states = ['WORKING', 'WORKING', 'COMPLETED', 'WORKING', 'COMPLETED']
    const peer = await startRecordingPeer({ result: () => task(states.shift() ?? 'FAILED') })
    const base = ['task', 'get', 't-1', '-a', peer.origin, '--poll-interval', '50ms']
    const once = await cli.run(base)
    expect([once.field('State'), peer.calls().length]).toEqual(['TASK_STATE_WORKING', 1])
    const waited = await cli.run([...base, '--wait'])
    expect([waited.field('State'), peer.calls().length]).toEqual(['TASK_STATE_COMPLETED', 3])
    const watched = await cli.run([...base, '--watch'])
    expect([watched.field('State'), peer.calls().length]).toEqual(['TASK_STATE_COMPLETED', 5])
  })

  it('TASK_POLL_002: polls pause and back off, --timeout ends them with 5, and Ctrl-C does after the ids', async () => {
    const times: number[] = []
    const peer = await startRecordingPeer({
      result({ body }) {
        if (body.method !== 'GetTask') return { task: task('SUBMITTED') }
        times.push(performance.now())
        return task('WORKING')
      },
    })
    const base = ['send', '-a', peer.origin, 'x', '--poll-interval', '200ms']
    const { code, json, stderr } = await cli.run([...base, '-o', 'json', '--timeout', '6s'])
    expect([code, json().error.code]).toEqual([5, 'A2ACLI_ERR_TIMEOUT'])
    expect(stderr).toMatch(/^Task: t-1\nContext: c-1$/m)
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    for (const pause of pauses) expect(pause).toBeGreaterThan(190)
    // The pause grows by half each time, up to 8 intervals: a fixed one would poll about 25 times.
    expect(times.length).toBeLessThan(12)

    const process = cli.start(base, { input: '' })
    await process.until(/Task: t-1/)
    process.child.kill('SIGINT')
    const stopped = await process.result
    expect(stopped.code).toBe(130)
    expect(stopped.stderr).not.toMatch(/^\s+at /m)
    expect(peer.calls().map(({ body }) => body.method)).not.toContain('CancelTask')
    const help = await cli.run(['task', 'get', '--help'])
    expect(help.stdout).toMatch(/--poll-interval.*default: 2s/s)
  })

  it('TASK_POLL_003: polling stops at INPUT_REQUIRED and AUTH_REQUIRED, and continues at UNSPECIFIED', async () => {
    const poll = async (states: readonly string[]) => {
      let calls = 0
      const peer = await startRecordingPeer({ result: () => task(states[calls++] ?? 'FAILED') })
      const args = ['task', 'get', 't-1', '-a', peer.origin, '--poll-interval', '50ms']
      return await cli.run([...args, ...(states.length > 1 ? ['--wait'] : []), '-o', 'json'])
    }
    const [input, auth, open, once] = await Promise.all([
      poll(['WORKING', 'INPUT_REQUIRED']),
      poll(['WORKING', 'AUTH_REQUIRED']),
      poll(['UNSPECIFIED', 'UNSPECIFIED', 'COMPLETED']),
      poll(['UNSPECIFIED']),
    ])
    expect(input.json().status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(auth.json().status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    expect(open.json().status.state).toBe('TASK_STATE_COMPLETED')
    expect(once.json().status).toEqual({ state: 'TASK_STATE_UNSPECIFIED' })
    expect(once.json()).not.toHaveProperty('metadata')
  })

  it('TASK_POLL_004: a stream that breaks is followed by polling until the task has ended', async () => {
    let polls = 0
    const peer = await startRecordingPeer({
      result: ({ body }) =>
        body.method === 'GetTask'
          ? task(++polls > 1 ? 'COMPLETED' : 'WORKING')
          : { error: { code: -32601, message: 'Method not found' } },
      handle({ body }, response) {
        if (body?.method !== 'SendStreamingMessage') return false
        const event = { jsonrpc: '2.0', id: body.id, result: { task: task('WORKING') } }
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(event)}\n\n`)
        return true
      },
    })
    const base = ['send', '-a', peer.origin, 'x', '--stream', '--poll-interval', '50ms']
    const text = await cli.run(base)
    expect(text.code).toBe(0)
    expect(text.stdout).toMatch(/State: TASK_STATE_COMPLETED\n$/)
    polls = 0
    const json = await cli.run([...base, '-o', 'json'])
    expect(JSON.stringify(json.lines().at(-1))).toContain('TASK_STATE_COMPLETED')
  })
})

describe('webhooks', () => {
  it('PUSH_001: push configs are created, shown, listed and deleted, without their secrets', async () => {
    const { id } = await start('wait')
    const url = `http://127.0.0.1:${await closedPort()}/hook`
    const config = (...args: readonly string[]) => run('task', 'push-config', ...args, '-o', 'json')
    const created = await config('create', id, url, '--id', 'c-1', '--token', 'push-secret-token')
    expect(created.code).toBe(0)
    expect(created.json()).toMatchObject({ taskId: id, id: 'c-1', url })
    const [shown, listed] = [await config('get', id, 'c-1'), await config('list', id)]
    expect(shown.json()).toMatchObject({ id: 'c-1', url })
    expect(listed.json().configs).toMatchObject([{ id: 'c-1' }])
    for (const { stdout } of [created, shown, listed]) expect(stdout).not.toContain('push-secret-token')
    expect((await config('delete', id, 'c-1')).code).toBe(0)
    expect((await config('list', id)).json()).toEqual({})
    await run('task', 'cancel', id)
  })

  it('PUSH_002: a receiver registers itself for a task, prints its deliveries, and refuses forged ones', async () => {
    const { url } = demo().server
    const { id } = await start('wait')
    const receiver = cli.start(['listen', '-a', url, '--task-id', id, '-o', 'json'])
    await receiver.until(/Registered for the task/)
    await run('task', 'cancel', id)
    await receiver.until(/TASK_STATE_CANCELED/)
    const [, address = ''] = /Listening at (\S+)/.exec(receiver.stderr()) ?? []
    const forged = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-a2a-notification-token': 'wrong' },
      body: '{}',
    })
    expect(forged.status).toBeGreaterThanOrEqual(400)
    await receiver.until(/warning: A delivery was refused/)
    receiver.child.kill('SIGINT')
    const { code, lines } = await receiver.result
    expect(code).toBe(0)
    expect(lines().at(-1)).toMatchObject({ statusUpdate: { taskId: id, status: { state: 'TASK_STATE_CANCELED' } } })
  })
})

describe('texts of a hostile agent', () => {
  const hostileId = "x'; touch /tmp/owned; '\u202egpj"

  it('printed commands can be pasted, and completion offers no id that a shell would obey', async () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'red \u009b31m\u202egpj' }] }
    const state = { state: 'TASK_STATE_INPUT_REQUIRED', message }
    const tasks = [hostileId, '$(id)', '--force', 'plain-1'].map((id) => ({ id, contextId: 'c-1', status: state }))
    const peer = await startRecordingPeer({
      result: ({ body }) =>
        body.method === 'ListTasks' ? { tasks, nextPageToken: '', pageSize: 20, totalSize: 4 } : { task: tasks[0] },
    })
    const sent = await cli.run(['send', '-a', peer.origin, 'x'])
    expect(sent.stderr).toContain(`--task-id 'x'\\''; touch /tmp/owned; '\\''`)
    expect(sent.stderr).not.toMatch(/[\u0080-\u009f\u202a-\u202e]/)
    const completed = await cli.run(['__complete', '--', 'task', 'get', '-a', peer.origin, ''], {
      env: { A2ACLI_TIMEOUT: '30s' },
    })
    expect(
      completed.stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t')[0]),
    ).toEqual(['plain-1'])
    const json = await cli.run(['send', '-a', peer.origin, 'x', '-o', 'json'])
    expect(json.stdout).not.toMatch(/[\u0080-\u009f\u202a-\u202e]/)
    expect(JSON.stringify(json.json())).toContain('\u202egpj')
  })

  it('downloaded files have names that every system can store, and replace no file behind a link', async () => {
    const parts = [
      { raw: 'AA==', filename: `${'ü'.repeat(300)}.txt` },
      { raw: 'AA==', filename: 'invoice\u202egpj.exe' },
      { raw: 'AA==', filename: '../../.bashrc' },
      { raw: 'AA==', filename: 'linked.txt' },
    ]
    const artifacts = [{ artifactId: 'a', parts }]
    const peer = await startRecordingPeer({
      result: () => ({ id: 't-1', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' }, artifacts }),
    })
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'precious'), 'kept')
    await mkdir(join(folder, 'in'))
    await symlink(join(folder, 'precious'), join(folder, 'in', 'linked.txt'))
    const args = ['task', 'download', 't-1', '-a', peer.origin, '--dir', join(folder, 'in'), '--force']
    expect((await cli.run(args)).code).toBe(0)
    const names = await readdir(join(folder, 'in'))
    expect(names).toHaveLength(4)
    expect(names.filter((name) => /[\u202a-\u202e]/.test(name) || Buffer.byteLength(name) > 250)).toEqual([])
    expect(names).toContain('bashrc')
    expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('kept')
  })
})
