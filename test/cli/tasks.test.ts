import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../support/processes/cli.ts'
import { closedPort, respondWith, startHttpServer } from '../support/servers/http-server.ts'
import { startRecordingPeer, task } from '../support/servers/recording-peer.ts'
import { shareTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, push: {} })
const run = (...args: readonly string[]) => cli.run([...args, '-a', demo().server.url])
const start = async (text: string) => (await run('send', text, '--async', '-o', 'json')).json().task

describe('task', () => {
  it('TASK_GET_001: a task is shown with its state and artifacts, and --history adds messages', async () => {
    const { task: counted } = (await run('send', 'count', '-o', 'json')).json()
    const [text, json, history] = await Promise.all([
      run('task', 'get', counted.id),
      run('task', 'get', '--task-id', counted.id, '-o', 'json'),
      run('task', 'get', counted.id, '--history', '5', '-o', 'json'),
    ])
    expect(text.field('State')).toBe('TASK_STATE_COMPLETED')
    expect(text.stdout).toContain('Text:\none\ntwo\nthree\n\n')
    expect(json.json()).toMatchObject({ id: counted.id, artifacts: [{ name: 'numbers' }] })
    expect(json.json()).not.toHaveProperty('history')
    expect(history.json().history[0]).toMatchObject({ role: 'ROLE_USER', parts: [{ text: 'count' }] })
    const missing = await cli.run(['task', 'get', '-a', demo().server.url])
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Which task?') })
  })

  it('TASK_CANCEL_001: canceling reports the state, is idempotent, and fails for a task that has ended', async () => {
    const { id } = await start('wait')
    const first = await run('task', 'cancel', id)
    expect(first.field('State')).toBe('TASK_STATE_CANCELED')
    const second = await run('task', 'cancel', id, '-o', 'json')
    expect(second).toMatchObject({ code: 0 })
    expect(second.json().status.state).toBe('TASK_STATE_CANCELED')
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
    const ids = [...page.json().tasks, ...next.json().tasks].map(({ id }) => id)
    expect(new Set(ids).size).toBe(4)
    expect(failed.json().tasks.map(({ id }: { id: string }) => id)).toEqual([tasks[1].id])
    expect(new Set(all.lines().map(({ id }) => id))).toEqual(new Set(ids))
    expect(text.field('Task')).toBe(tasks[2].id)
    expect((await run('task', 'list', '--status', 'nonsense')).code).toBe(2)
  })

  it('TASK_SUBSCRIBE_001, TASK_SUBSCRIBE_002: a subscription begins with the task and ends with its last state', async () => {
    const { id } = await start('wait')
    const args = ['task', 'subscribe', id, '-a', demo().server.url, '-o', 'json']
    const streaming = cli.start([...args, '--stream'], { input: '' })
    const waiting = cli.start(args, { input: '' })
    await streaming.until(/"task":/)
    await run('task', 'cancel', id)
    const [events, final] = await Promise.all([streaming.result, waiting.result])
    expect([events.code, final.code]).toEqual([0, 0])
    expect(events.lines()[0]).toMatchObject({ task: { id } })
    expect(events.lines().at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } })
    expect(final.json()).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
  })

  it('TASK_SUBSCRIBE_002: a broken subscription is resumed without a further GetTask at its start', async () => {
    let subscriptions = 0
    const peer = await startRecordingPeer({
      result: () => task('COMPLETED'),
      handle({ body }, response) {
        if (body?.method !== 'SubscribeToTask') return false
        const state = ++subscriptions === 1 ? 'WORKING' : 'COMPLETED'
        const data = JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { task: task(state) } })
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${data}\n\n`)
        if (state === 'WORKING') response.destroy()
        else response.end()
        return true
      },
    })
    const { code, lines } = await cli.run(['task', 'subscribe', 't-1', '-a', peer.origin, '-o', 'json', '--stream'])
    expect(code).toBe(0)
    expect(subscriptions).toBe(2)
    expect(peer.calls()[0]?.body.method).toBe('SubscribeToTask')
    expect(JSON.stringify(lines().at(-1))).toContain('TASK_STATE_COMPLETED')
  })

  it('DOWNLOAD_001: artifacts become files inside the folder, and existing files are kept', async () => {
    const folder = await temporaryDirectory()
    const remote = await startHttpServer(respondWith(200, 'by url', { 'content-type': 'text/plain' }))
    const raw = (text: string, filename: string) => ({ raw: Buffer.from(text).toString('base64'), filename })
    const peer = await startRecordingPeer({
      result: () =>
        task('COMPLETED', {
          artifacts: [
            { artifactId: 'a', name: 'notes', parts: [{ text: 'one ' }, { text: 'two' }] },
            {
              artifactId: 'b',
              parts: [raw('evil', '../../outside.txt'), raw('again', 'outside.txt'), { data: { n: 1 } }],
            },
            { artifactId: 'c', parts: [{ url: `${remote}/deep/linked.txt` }] },
          ],
        }),
    })
    const args = ['task', 'download', 't-1', '-a', peer.origin, '--dir', join(folder, 'in')]
    const saved = await cli.run([...args, '-o', 'json'])
    expect(saved.code).toBe(0)
    expect(saved.json().files).toHaveLength(5)
    expect(await readdir(folder)).toEqual(['in'])
    expect((await readdir(join(folder, 'in'))).toSorted()).toEqual([
      'b-3.json',
      'linked.txt',
      'notes.txt',
      'outside-2.txt',
      'outside.txt',
    ])
    expect(await readFile(join(folder, 'in', 'notes.txt'), 'utf8')).toBe('one two')
    expect(await readFile(join(folder, 'in', 'linked.txt'), 'utf8')).toBe('by url')
    const again = await cli.run(args)
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') })
    expect((await cli.run([...args, '--force', '--artifact', 'notes'])).code).toBe(0)
  })

  it('PUSH_001: push configs are created, shown, listed and deleted, without their secrets', async () => {
    const { id } = await start('wait')
    const url = `http://127.0.0.1:${await closedPort()}/hook`
    const config = (...args: readonly string[]) => run('task', 'push-config', ...args, '-o', 'json')
    const created = await config('create', id, url, '--id', 'c-1', '--token', 'push-secret-token')
    expect(created.code).toBe(0)
    expect(created.json()).toMatchObject({ taskId: id, id: 'c-1', url })
    const shown = await config('get', id, 'c-1')
    const listed = await config('list', id)
    expect(shown.json()).toMatchObject({ id: 'c-1', url })
    expect(listed.json().configs).toMatchObject([{ id: 'c-1' }])
    for (const { stdout } of [created, shown, listed]) expect(stdout).not.toContain('push-secret-token')
    expect((await config('delete', id, 'c-1')).code).toBe(0)
    expect((await config('list', id)).json()).toEqual({})
    await run('task', 'cancel', id)
  })

  it('OUT_007: --debug shows the exchange on stderr, and nothing more on stdout', async () => {
    const [plain, debug] = await Promise.all([
      run('send', 'count', '-o', 'json'),
      run('send', 'count', '-o', 'json', '--debug'),
    ])
    expect(plain.stderr).toBe('')
    expect(debug.stderr).toContain('> GET ')
    expect(debug.stderr).toContain('"method":"SendMessage"')
    expect(debug.stderr).toMatch(/^< 200 /m)
    expect(Object.keys(debug.json())).toEqual(['task'])
  })
})
