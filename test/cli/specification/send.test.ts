import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../../support/processes/cli.ts'
import { rpcCard, startHttpServer } from '../../support/servers/http-server.ts'
import { message, startRecordingPeer, task, validMembers } from '../../support/servers/recording-peer.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile })
const send = (...args: readonly string[]) => cli.run(['send', '-a', demo().server.url, ...args])

describe('send', () => {
  it('SEND_001: a message starts an interaction, and continues one', async () => {
    const [reply, asked] = await Promise.all([send('hello'), send('ask', '-o', 'json')])
    expect(reply).toMatchObject({ code: 0, stderr: '' })
    expect(reply.field('Message')).toMatch(/^Hello! I am the demo agent/)
    const { id } = asked.json().task
    const answered = await send('--task-id', id, '--text', 'green', '-o', 'json')
    expect(answered.json().task).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
  })

  it('SEND_002: the command waits for the end or an interruption, and --async and its aliases return at once', async () => {
    const [counted, asked, ...immediate] = await Promise.all([
      send('count', '-o', 'json'),
      send('ask', '-o', 'json'),
      send('wait', '--async', '-o', 'json'),
      send('wait', '--return-immediately', '-o', 'json'),
      send('wait', '--no-wait', '-o', 'json'),
    ])
    expect(counted.json().task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(asked.json().task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    for (const result of immediate) {
      expect(result.code).toBe(0)
      expect(result.json().task).toMatchObject({ id: expect.any(String), contextId: expect.any(String) })
      expect(result.json().task.status.state).toMatch(/SUBMITTED|WORKING/)
    }
    // An agent that answers too early is polled: the command waits, whatever the agent does.
    let polls = 0
    const peer = await startRecordingPeer({
      result: ({ body }) =>
        body.method === 'GetTask' ? task(++polls > 1 ? 'COMPLETED' : 'WORKING') : { task: task('SUBMITTED') },
    })
    const early = await cli.run(['send', '-a', peer.origin, 'x', '--poll-interval', '50ms', '-o', 'json'])
    expect(early.json().task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(peer.calls()[0]?.body.params.configuration ?? {}).not.toHaveProperty('returnImmediately')
  })

  it('SEND_003: --stream follows the events, polls an agent without streams, and ends after a lone message', async () => {
    const [text, json, single] = await Promise.all([
      send('count', '--stream'),
      send('count', '--stream', '-o', 'json'),
      send('hello', '--stream', '-o', 'json'),
    ])
    expect(text.code).toBe(0)
    expect(text.stdout).toMatch(/State: TASK_STATE_WORKING\n.*Text:\none\ntwo\nthree\n\n.*COMPLETED/s)
    expect(json.lines()[0]).toHaveProperty('task.id')
    expect(json.lines().filter((event) => event.artifactUpdate)).toHaveLength(3)
    expect(single.code).toBe(0)
    expect(single.lines()).toMatchObject([{ message: { role: 'ROLE_AGENT' } }])

    let polls = 0
    const peer = await startRecordingPeer({
      card: (origin) => rpcCard(origin, { ...validMembers, capabilities: {} }),
      result: ({ body }) =>
        body.method === 'GetTask' ? task(++polls > 1 ? 'COMPLETED' : 'WORKING') : { task: task('SUBMITTED') },
    })
    const args = ['send', '-a', peer.origin, 'x', '--stream', '-o', 'json', '--poll-interval', '50ms']
    const polled = await cli.run(args)
    expect(polled.code).toBe(0)
    expect(polled.lines().at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    expect(peer.calls().map(({ body }) => body.method)).not.toContain('SendStreamingMessage')
  })

  it('SEND_004: every part of every artifact is shown, and no file is written', async () => {
    const folder = await temporaryDirectory()
    const parts = [
      { text: 'one line' },
      { data: { total: 3, items: ['one'] } },
      { raw: Buffer.from('Hello from a file.\n').toString('base64'), filename: 'a.txt', mediaType: 'text/plain' },
      { url: 'https://files.example/b.pdf', mediaType: 'application/pdf' },
      { text: 'the end' },
    ]
    const artifacts = [
      { artifactId: 'a-1', name: 'first', description: 'All kinds', parts },
      { artifactId: 'a-2', parts: [{ data: 7 }] },
    ]
    const peer = await startRecordingPeer({ result: () => ({ task: task('COMPLETED', { artifacts }) }) })
    const { code, stdout } = await cli.run(['send', '-a', peer.origin, 'x'], { cwd: folder })
    expect(code).toBe(0)
    expect(stdout).toBe(
      'Task: t-1\nContext: c-1\nState: TASK_STATE_COMPLETED\n' +
        'Artifact: a-1 (first)\nDescription: All kinds\nText: one line\n' +
        'Data:\n{\n  "total": 3,\n  "items": [\n    "one"\n  ]\n}\n\n' +
        'File: a.txt (text/plain, 19 bytes)\nFile: (no name) (application/pdf) https://files.example/b.pdf\n' +
        'Text: the end\nArtifact: a-2\nData: 7\n',
    )
    expect(await readdir(folder)).toEqual([])
  })

  it('SEND_005: --media-type belongs to the part just before it, is inferred without it, and needs a part', async () => {
    const folder = await temporaryDirectory()
    await Promise.all([writeFile(join(folder, 'a.csv'), 'a;b\n'), writeFile(join(folder, 'd.json'), '{"n":1}')])
    const peer = await startRecordingPeer()
    const base = ['send', '-a', peer.origin]
    const own = ['--text', 'x', '--media-type', 'text/markdown', '--file', 'a.csv', '--media-type', 'text/x-own']
    const [sent, first, later] = await Promise.all([
      cli.run([...base, ...own, '--data', 'd.json', '--file', 'a.csv'], { cwd: folder }),
      cli.run([...base, '--media-type', 'text/plain', '--text', 'x', '-o', 'json']),
      cli.run([...base, '--text', 'x', '--stream', '--media-type', 'text/plain', '-o', 'json']),
    ])
    expect(sent.code).toBe(0)
    expect(peer.calls()).toHaveLength(1)
    const types = peer.calls()[0]?.body.params.message.parts.map(({ mediaType }: { mediaType?: string }) => mediaType)
    expect(types).toEqual(['text/markdown', 'text/x-own', 'application/json', 'text/csv'])
    for (const { code, json } of [first, later]) {
      expect(code).toBe(2)
      expect(json().error).toMatchObject({ code: 'A2ACLI_ERR_USAGE', message: expect.stringContaining('has no part') })
    }
  })

  it('SEND_006: --text, --file and --data are repeatable and keep their order; URLs are not fetched', async () => {
    const folder = await temporaryDirectory()
    await Promise.all([writeFile(join(folder, 'a.csv'), 'a;b\n'), writeFile(join(folder, 'd.json'), '{"n":1}')])
    const fetched: string[] = []
    const files = await startHttpServer((request, response) => {
      fetched.push(request.url ?? '')
      response.end()
    })
    const peer = await startRecordingPeer()
    const base = ['send', '-a', peer.origin]
    const url = `${files}/x/report.pdf`
    const parts = ['--text', 'one', '--file', 'a.csv', '--data', 'd.json', '--text', '-2', '--file', url, '--data', '-']
    const [mixed, stdin, missing, broken, nothing] = await Promise.all([
      cli.run([...base, ...parts], { cwd: folder, input: '[true]' }),
      cli.run(base, { input: 'piped text\n' }),
      cli.run([...base, '--file', 'no-such-file']),
      cli.run([...base, '--data', '-'], { input: 'no json' }),
      cli.run(base),
    ])
    expect([mixed.code, stdin.code]).toEqual([0, 0])
    const sent = peer.calls().map(({ body }) => body.params.message.parts)
    expect(sent.find((list) => list.length === 6)).toEqual([
      { text: 'one' },
      { raw: Buffer.from('a;b\n').toString('base64'), filename: 'a.csv', mediaType: 'text/csv' },
      { data: { n: 1 }, mediaType: 'application/json' },
      { text: '-2' },
      { url, filename: 'report.pdf', mediaType: 'application/pdf' },
      { data: [true], mediaType: 'application/json' },
    ])
    expect(sent.find((list) => list.length === 1)).toEqual([{ text: 'piped text' }])
    expect([sent.length, fetched]).toEqual([2, []])
    for (const { code, stdout } of [missing, broken, nothing]) expect([code, stdout]).toEqual([2, ''])
    expect(missing.stderr).toContain('there is no such file')
    expect(broken.stderr).toContain('stdin is not JSON')
  })
})

describe('continuing', () => {
  it('INTERACT_001: --context-id starts a new task in the context', async () => {
    const { id, contextId } = (await send('ask', '-o', 'json')).json().task
    const sibling = await send('count', '--context-id', contextId, '-o', 'json')
    expect(sibling.json().task).toMatchObject({ contextId, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(sibling.json().task.id).not.toBe(id)
  })

  it('INTERACT_002: --task-id continues the task or fails by a protocol error, and never starts another', async () => {
    const [one, two] = await Promise.all([send('ask', '-o', 'json'), send('ask', '-o', 'json')])
    const [first, second] = [one.json().task, two.json().task]
    const answer = (id: string, ...args: readonly string[]) =>
      send('--task-id', id, '--text', 'green', '-o', 'json', ...args)
    const [alone, mismatch, unknown] = await Promise.all([
      answer(first.id),
      answer(second.id, '--context-id', 'another-context'),
      answer('no-such-task'),
    ])
    expect(alone.json().task).toMatchObject({ id: first.id, status: { state: 'TASK_STATE_COMPLETED' } })
    const [both, ended] = await Promise.all([answer(second.id, '--context-id', second.contextId), answer(first.id)])
    expect(both.json().task).toMatchObject({ id: second.id, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(unknown.json().error).toMatchObject({ code: 'TaskNotFoundError', a2aCode: -32001 })
    expect(ended.json().error).toMatchObject({ code: 'UnsupportedOperationError', a2aCode: -32004 })
    for (const { code, json } of [mismatch, unknown, ended]) {
      expect(code).toBe(1)
      expect(json().error).toMatchObject({ a2aCode: expect.any(Number), hint: expect.stringContaining('--debug') })
    }
    const { tasks } = (await cli.run(['task', 'list', '-a', demo().server.url, '-o', 'json'])).json()
    const contexts = [first.contextId, second.contextId, 'another-context']
    const own = tasks.filter(({ contextId }: { contextId: string }) => contexts.includes(contextId))
    expect(own.map(({ id }: { id: string }) => id).toSorted()).toEqual([first.id, second.id].toSorted())
    const peer = await startRecordingPeer({ result: () => ({ task: task('COMPLETED', { id: 'another' }) }) })
    const other = await cli.run(['send', '-a', peer.origin, '--task-id', 't-1', '--text', 'x', '-o', 'json'])
    expect([other.code, other.json().error.code]).toEqual([1, 'InvalidAgentResponseError'])
  })

  it('INTERACT_003: no task and context ids are invented, and a retry repeats the message id', async () => {
    let tries = 0
    const peer = await startRecordingPeer({
      handle({ body }, response) {
        if (body?.method !== 'SendMessage' || ++tries > 1) return false
        response.writeHead(503, { 'retry-after': '0' }).end()
        return true
      },
      result: () => ({ message: message('Hi', { contextId: 'c-9' }) }),
    })
    const first = await cli.run(['send', '-a', peer.origin, 'one'])
    const second = await cli.run(['send', '-a', peer.origin, 'two', '--message-id', 'own-id'])
    expect([first.code, second.code]).toEqual([0, 0])
    const messages = peer.calls().map(({ body }) => body.params.message)
    for (const sent of messages) {
      expect(sent).not.toHaveProperty('taskId')
      expect(sent).not.toHaveProperty('contextId')
    }
    expect(messages).toHaveLength(3)
    expect(messages[1].messageId).toBe(messages[0].messageId)
    expect(messages[2].messageId).toBe('own-id')
  })

  it('INTERACT_004: ids and state are printed on completion and interruption, with the command that continues', async () => {
    const [counted, asked] = await Promise.all([send('count'), send('ask')])
    expect(counted.field('State')).toBe('TASK_STATE_COMPLETED')
    expect(asked.field('State')).toBe('TASK_STATE_INPUT_REQUIRED')
    for (const { field } of [counted, asked]) {
      expect(field('Task')).toMatch(/^\S+$/)
      expect(field('Context')).toMatch(/^\S+$/)
    }
    const [, line = ''] = /^ {2}parley (send .*) "…"$/m.exec(asked.stderr) ?? []
    const copied = await cli.run([...line.split(' '), 'green', '-o', 'json'])
    expect(copied.json().task).toMatchObject({ id: asked.field('Task'), status: { state: 'TASK_STATE_COMPLETED' } })
  })

  it('INTERACT_005: nothing is remembered between two commands, and there is no --continue', async () => {
    const peer = await startRecordingPeer({ result: () => ({ task: task('INPUT_REQUIRED') }) })
    const first = await cli.run(['send', '-a', peer.origin, 'one'])
    const second = await cli.run(['send', '-a', peer.origin, 'two'])
    const refused = await cli.run(['send', '-a', peer.origin, '--continue', 'three'])
    expect([first.code, second.code, refused.code]).toEqual([0, 0, 2])
    expect(peer.calls()).toHaveLength(2)
    for (const { body } of peer.calls()) expect(JSON.stringify(body)).not.toMatch(/t-1|c-1/)
  })
})
