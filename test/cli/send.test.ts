import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../src/cli/serve/demo-agent.ts'
import { until } from '../support/async.ts'
import { shareCli } from '../support/processes/cli.ts'
import { rpcCard } from '../support/servers/http-server.ts'
import { message, startRecordingPeer, task, validMembers } from '../support/servers/recording-peer.ts'
import { shareTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile })
const send = (...args: readonly string[]) => cli.run(['send', '-a', demo().server.url, ...args])

describe('send', () => {
  it('SEND_001, SEND_002, INTERACT_004, OUT_001: a message is sent, and its answer is printed with ids and state', async () => {
    const [reply, counted, asked] = await Promise.all([send('hello'), send('count'), send('ask')])
    expect(reply).toMatchObject({ code: 0, stderr: '' })
    expect(reply.field('Message')).toMatch(/^Hello! I am the demo agent/)
    expect(counted).toMatchObject({ code: 0, stderr: '' })
    expect(counted.field('State')).toBe('TASK_STATE_COMPLETED')
    expect(counted.field('Task')).toMatch(/^\S+$/)
    expect(counted.field('Context')).toMatch(/^\S+$/)
    expect(asked.code).toBe(0)
    expect(asked.field('State')).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(asked.stderr).toContain(
      `parley send --agent-card ${demo().server.url} --task-id ${asked.field('Task')} --text`,
    )
  })

  it('SEND_002, OUT_006: --async and its aliases return the ids at once', async () => {
    const results = await Promise.all([
      send('wait', '--async', '-o', 'json'),
      send('wait', '--return-immediately', '-o', 'json'),
      send('wait', '--no-wait', '-o', 'json'),
      send('wait', '--async'),
    ])
    for (const result of results.slice(0, 3)) {
      expect(result.code).toBe(0)
      expect(result.json().task).toMatchObject({ id: expect.any(String), contextId: expect.any(String) })
      expect(result.json().task.status.state).toMatch(/SUBMITTED|WORKING/)
    }
    expect(results[3]?.field('Task')).toMatch(/^\S+$/)
    expect(results[3]?.stderr).toContain('still running')
  })

  it('SEND_003, OUT_003: --stream prints every event, as JSON one per line with the last one terminal', async () => {
    const [text, json, single] = await Promise.all([
      send('count', '--stream'),
      send('count', '--stream', '-o', 'json'),
      send('hello', '--stream', '-o', 'json'),
    ])
    expect(text.code).toBe(0)
    expect(text.stdout).toMatch(/State: TASK_STATE_WORKING\n.*Text: one\nText: two\nText: three\n.*COMPLETED/s)
    const events = json.lines()
    expect(events[0]).toHaveProperty('task.id')
    expect(events.filter((event) => event.artifactUpdate)).toHaveLength(3)
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    expect(single.code).toBe(0)
    expect(single.lines()).toMatchObject([{ message: { role: 'ROLE_AGENT' } }])
  })

  it('SEND_003, VER_003, TASK_POLL_004: without streaming, --stream polls instead', async () => {
    let polls = 0
    const peer = await startRecordingPeer({
      card: (origin) => rpcCard(origin, { ...validMembers, capabilities: {} }),
      result: ({ body }) =>
        body.method === 'GetTask' ? task(++polls > 1 ? 'COMPLETED' : 'WORKING') : { task: task('SUBMITTED') },
    })
    const args = ['send', '-a', peer.origin, 'x', '--stream', '-o', 'json', '--poll-interval', '50ms']
    const { code, lines } = await cli.run(args)
    expect(code).toBe(0)
    expect(lines().at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    expect(peer.calls().map(({ body }) => body.method)).not.toContain('SendStreamingMessage')
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
    const args = ['send', '-a', peer.origin, 'x', '--stream', '--poll-interval', '50ms']
    const { code, stdout } = await cli.run(args)
    expect(code).toBe(0)
    expect(stdout).toMatch(/State: TASK_STATE_COMPLETED\n$/)
  })

  it('SEND_004: every part of every artifact is shown, and no file is written', async () => {
    const { code, stdout, field } = await send('file')
    expect(code).toBe(0)
    expect(field('File')).toBe('greeting.txt (text/plain, 19 bytes)')
    expect(stdout).toContain('Data:\n{\n  "total": 3,\n  "items": [\n    "one",')
    expect(stdout).not.toContain('Hello from a file')
  })

  it('SEND_005, SEND_006: parts keep their order, and --media-type belongs to the part before it', async () => {
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'a.csv'), 'a;b\n')
    await writeFile(join(folder, 'd.json'), '{"n":1}')
    const peer = await startRecordingPeer()
    const base = ['send', '-a', peer.origin]
    const url = 'https://files.example/x/report.pdf'
    const parts = ['--text', 'one', '--file', 'a.csv', '--media-type', 'text/x-own', '--data', 'd.json', '--text', '-2']
    const [mixed, stdin, orphan, early, missing, broken, nothing] = await Promise.all([
      cli.run([...base, ...parts, '--file', url, '--data', '-'], { cwd: folder, input: '[true]' }),
      cli.run(base, { input: 'piped text\n' }),
      cli.run([...base, '--media-type', 'text/plain', '--text', 'x']),
      cli.run([...base, '--text', 'x', '--stream', '--media-type', 'text/plain']),
      cli.run([...base, '--file', 'no-such-file']),
      cli.run([...base, '--data', '-'], { input: 'no json' }),
      cli.run(base),
    ])
    expect(mixed.code).toBe(0)
    const sent = peer.calls().map(({ body }) => body.params.message.parts)
    expect(sent.find((list) => list.length === 6)).toEqual([
      { text: 'one' },
      { raw: Buffer.from('a;b\n').toString('base64'), filename: 'a.csv', mediaType: 'text/x-own' },
      { data: { n: 1 }, mediaType: 'application/json' },
      { text: '-2' },
      { url, filename: 'report.pdf', mediaType: 'application/pdf' },
      { data: [true], mediaType: 'application/json' },
    ])
    expect(stdin.code).toBe(0)
    expect(sent.find((list) => list.length === 1)).toEqual([{ text: 'piped text' }])
    expect(sent).toHaveLength(2)
    for (const { code, stdout } of [orphan, early, missing, broken, nothing]) expect([code, stdout]).toEqual([2, ''])
    expect(orphan.stderr).toContain('has no part before it')
    expect(missing.stderr).toContain('there is no such file')
    expect(broken.stderr).toContain('stdin is not JSON')
  })
})

describe('continuing', () => {
  it('INTERACT_001, INTERACT_002: --context-id starts a task in the context, --task-id continues the task', async () => {
    const asked = await send('ask', '-o', 'json')
    const { id, contextId } = asked.json().task
    const [sibling, answered] = await Promise.all([
      send('count', '--context-id', contextId, '-o', 'json'),
      send('--task-id', id, '--text', 'green', '-o', 'json'),
    ])
    expect(sibling.json().task).toMatchObject({ contextId, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(sibling.json().task.id).not.toBe(id)
    expect(answered.json().task).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    const ended = await send('--task-id', id, '--text', 'again', '-o', 'json')
    expect(ended.code).toBe(1)
    expect(ended.json()).toMatchObject({ error: { code: 'UnsupportedOperationError', a2aCode: -32004 } })
    expect(ended.json().error.hint).toContain('--debug')
  })

  it('INTERACT_002, OUT_004: an unknown task or a wrong context is a protocol error, and no task is started', async () => {
    const asked = await send('ask', '-o', 'json')
    const { id } = asked.json().task
    const [unknown, mismatch] = await Promise.all([
      send('--task-id', 'no-such-task', '--text', 'x', '-o', 'json'),
      send('--task-id', id, '--context-id', 'another-context', '--text', 'green', '-o', 'json'),
    ])
    expect(unknown.code).toBe(1)
    expect(unknown.json()).toMatchObject({ error: { code: 'TaskNotFoundError', a2aCode: -32001 } })
    expect(unknown.json().error.hint).toContain('--debug')
    expect(mismatch.code).toBe(1)
    expect(mismatch.json()).toHaveProperty('error.a2aCode')
    const peer = await startRecordingPeer({ result: () => ({ task: task('COMPLETED', { id: 'another' }) }) })
    const other = await cli.run(['send', '-a', peer.origin, '--task-id', 't-1', '--text', 'x', '-o', 'json'])
    expect(other.code).toBe(1)
    expect(other.json()).toMatchObject({ error: { code: 'InvalidAgentResponseError' } })
  })

  it('INTERACT_003, INTERACT_005: no ids are invented, nothing is remembered, and there is no --continue', async () => {
    const peer = await startRecordingPeer()
    const first = await cli.run(['send', '-a', peer.origin, 'one'])
    const second = await cli.run(['send', '-a', peer.origin, 'two'])
    const refused = await cli.run(['send', '-a', peer.origin, '--continue', 'three'])
    expect([first.code, second.code, refused.code]).toEqual([0, 0, 2])
    for (const { body } of peer.calls()) {
      expect(body.params.message).not.toHaveProperty('taskId')
      expect(body.params.message).not.toHaveProperty('contextId')
    }
    expect(peer.calls()).toHaveLength(2)
  })
})

describe('waiting', () => {
  it('TASK_POLL_001, TASK_POLL_002: --wait polls with pauses that grow until the task has ended', async () => {
    const times: number[] = []
    const peer = await startRecordingPeer({
      result() {
        times.push(performance.now())
        return task(times.length >= 5 ? 'COMPLETED' : 'WORKING')
      },
    })
    const base = ['task', 'get', 't-1', '-a', peer.origin]
    const once = await cli.run(base)
    expect(once.field('State')).toBe('TASK_STATE_WORKING')
    expect(times).toHaveLength(1)
    const waited = await cli.run([...base, '--wait', '--poll-interval', '100ms'])
    expect(waited.field('State')).toBe('TASK_STATE_COMPLETED')
    expect(times).toHaveLength(5)
    const pauses = times.slice(2).map((time, index) => time - (times[index + 1] ?? 0))
    for (const pause of pauses) expect(pause).toBeGreaterThan(90)
  })

  it('TASK_POLL_002, EXIT_001: --timeout ends with A2ACLI_ERR_TIMEOUT and 5, after the ids were printed', async () => {
    const peer = await startRecordingPeer({
      result: ({ body }) => (body.method === 'GetTask' ? task('WORKING') : { task: task('SUBMITTED') }),
    })
    const args = ['send', '-a', peer.origin, 'x', '-o', 'json', '--poll-interval', '50ms', '--timeout', '6s']
    const { code, json, stderr } = await cli.run(args)
    expect(code).toBe(5)
    expect(json()).toMatchObject({ error: { code: 'A2ACLI_ERR_TIMEOUT' } })
    expect(stderr).toMatch(/^Task: t-1$/m)
    expect(stderr).toMatch(/^Context: c-1$/m)
  })

  it('TASK_POLL_002: Ctrl-C ends the wait with 130 and leaves the task alone', async () => {
    const peer = await startRecordingPeer({
      result: ({ body }) => (body.method === 'GetTask' ? task('WORKING') : { task: task('SUBMITTED') }),
    })
    const process = cli.start(['send', '-a', peer.origin, 'x', '--poll-interval', '50ms'], { input: '' })
    await process.until(/Task: t-1/)
    process.child.kill('SIGINT')
    const { code, stderr } = await process.result
    expect(code).toBe(130)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(peer.calls().map(({ body }) => body.method)).not.toContain('CancelTask')
  })

  it('Ctrl-C ends the command with 130 while it fetches the card, waits for the answer, and follows a stream', async () => {
    const silent = (method: string) =>
      startRecordingPeer({
        handle({ body }, response) {
          if ((body?.method ?? 'card') !== method) return false
          if (method === 'SendStreamingMessage') {
            response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
          }
          return true
        },
      })
    const interrupt = async (method: string, ...args: readonly string[]) => {
      const peer = await silent(method)
      const process = cli.start(['send', '-a', peer.origin, 'x', ...args], { input: '' })
      await until(() => peer.requests.some(({ body }) => (body?.method ?? 'card') === method), 30_000)
      process.child.kill('SIGINT')
      return await process.result
    }
    const results = await Promise.all([
      interrupt('card'),
      interrupt('SendMessage'),
      interrupt('SendStreamingMessage', '--stream'),
    ])
    for (const { code, stderr } of results) {
      expect(code).toBe(130)
      expect(stderr).toMatch(/^Interrupted\.$/m)
      expect(stderr).not.toMatch(/error:|^\s+at /m)
    }
  })

  it('TASK_POLL_003: polling stops at INPUT_REQUIRED and AUTH_REQUIRED, and continues at UNSPECIFIED', async () => {
    const run = async (states: readonly string[]) => {
      let calls = 0
      const peer = await startRecordingPeer({ result: () => task(states[calls++] ?? 'FAILED') })
      const args = ['task', 'get', 't-1', '-a', peer.origin, '--poll-interval', '50ms']
      return await cli.run([...args, ...(states.length > 1 ? ['--wait'] : []), '-o', 'json'])
    }
    const [input, auth, open, once] = await Promise.all([
      run(['WORKING', 'INPUT_REQUIRED']),
      run(['WORKING', 'AUTH_REQUIRED']),
      run(['UNSPECIFIED', 'UNSPECIFIED', 'COMPLETED']),
      run(['UNSPECIFIED']),
    ])
    expect(input.json().status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(auth.json().status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    expect(open.json().status.state).toBe('TASK_STATE_COMPLETED')
    expect(once.json().status).toEqual({ state: 'TASK_STATE_UNSPECIFIED' })
    expect(once.json()).not.toHaveProperty('metadata')
  })
})

describe('output', () => {
  it('OUT_002: -o json is exactly one document, the protocol object', async () => {
    const [sent, replied] = await Promise.all([send('count', '-o', 'json'), send('hello', '-o', 'json')])
    expect(
      sent
        .json()
        .task.artifacts[0].parts.map(({ text }: { text: string }) => text)
        .join(''),
    ).toBe('one\ntwo\nthree\n')
    expect(Object.keys(replied.json())).toEqual(['message'])
  })

  it('OUT_003, OUT_004: an error in a stream is its last line, in the same envelope as everywhere', async () => {
    const error = { code: -32005, message: 'No such type', data: [] }
    const peer = await startRecordingPeer({ result: () => ({ error }) })
    const [stream, single, text] = await Promise.all([
      cli.run(['send', '-a', peer.origin, 'x', '--stream', '-o', 'json']),
      cli.run(['send', '-a', peer.origin, 'x', '-o', 'json']),
      cli.run(['send', '-a', peer.origin, 'x']),
    ])
    const envelope = { code: 'ContentTypeNotSupportedError', message: expect.any(String), a2aCode: -32005 }
    expect(stream.lines().at(-1)).toMatchObject({ error: envelope })
    expect(single.json()).toMatchObject({ error: envelope })
    expect([stream.code, single.code, text.code]).toEqual([1, 1, 1])
    expect(text.stdout).toBe('')
    expect(text.stderr).toMatch(/^error: .*No such type.*\nhint: /)
  })

  it('OUT_005: text has one label per line, blocks end with a blank line, and control sequences are removed', async () => {
    const evil = 'first\u001b]0;title\u0007\nsecond\u001b[2J\u009b31m\r\nthird'
    const peer = await startRecordingPeer({
      result: () => ({
        task: task('COMPLETED', {
          status: { state: 'TASK_STATE_COMPLETED', message: message('done\u001b[31m') },
          artifacts: [{ artifactId: 'a-1', name: 'lines', parts: [{ text: evil }] }],
        }),
      }),
    })
    const { stdout } = await cli.run(['send', '-a', peer.origin, 'x'])
    expect(stdout).toBe(
      'Task: t-1\nContext: c-1\nState: TASK_STATE_COMPLETED\nMessage: done[31m\nArtifact: a-1 (lines)\n' +
        'Text:\nfirst]0;title\nsecond[2J31m\nthird\n\n',
    )
  })

  it('EXIT_002: a failed, rejected or interrupted task ends with 0 and a warning on stderr', async () => {
    const [failed, rejected, asked] = await Promise.all([send('fail'), send('reject'), send('ask')])
    expect([failed.code, rejected.code, asked.code]).toEqual([0, 0, 0])
    expect(failed.stderr).toContain('warning: The task ended as TASK_STATE_FAILED')
    expect(rejected.stderr).toContain('TASK_STATE_REJECTED')
  })
})
