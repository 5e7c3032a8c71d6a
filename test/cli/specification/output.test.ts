import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../../support/processes/cli.ts'
import { startAuthenticatingAgent } from '../../support/servers/authenticating-agent.ts'
import { closedPort, respondWith, rpcCard, startHttpServer } from '../../support/servers/http-server.ts'
import { message, startRecordingPeer, task, validMembers } from '../../support/servers/recording-peer.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, grpc: true })
const send = (...args: readonly string[]) => cli.run(['send', '-a', demo().server.url, ...args])

describe('output', () => {
  it('OUT_001: context, task and state are named in every mode, and only payload is on stdout', async () => {
    const [text, json, stream, lines, debug] = await Promise.all([
      send('ask'),
      send('ask', '-o', 'json'),
      send('count', '--stream'),
      send('count', '--stream', '-o', 'json'),
      send('ask', '--verbose', '--debug'),
    ])
    for (const { stdout, field } of [text, stream, debug]) {
      expect([field('Context'), field('Task'), field('State')]).not.toContain(undefined)
      expect(stdout).not.toMatch(/parley send|needs an answer|^[<>] /m)
    }
    expect(json.json().task).toMatchObject({
      id: expect.stringMatching(/./),
      contextId: expect.stringMatching(/./),
      status: { state: 'TASK_STATE_INPUT_REQUIRED' },
    })
    expect(lines.lines().at(-1)?.statusUpdate).toMatchObject({
      taskId: expect.stringMatching(/./),
      contextId: expect.stringMatching(/./),
      status: { state: 'TASK_STATE_COMPLETED' },
    })
    expect(text.stderr).toContain('The agent needs an answer')
    expect(debug.stderr).toMatch(/^< 200 /m)
  })

  it('OUT_002: -o json is exactly one document, the final object of the protocol', async () => {
    const { url } = demo().server
    const [sent, replied] = await Promise.all([send('count', '-o', 'json'), send('hello', '-o', 'json')])
    const { id, contextId } = sent.json().task
    const run = (...args: readonly string[]) => cli.run([...args, '-a', url, '-o', 'json'])
    const broken = await startRecordingPeer({ card: (origin) => rpcCard(origin, { ...validMembers, version: 7 }) })
    const [got, list, followed, canceled, card, invalid] = await Promise.all([
      run('task', 'get', id),
      run('task', 'list', '--context-id', contextId),
      run('task', 'subscribe', id),
      run('task', 'cancel', id),
      run('card', 'get', '--validate'),
      cli.run(['card', 'get', '--validate', '-a', broken.origin, '-o', 'json']),
    ])
    expect(Object.keys(sent.json())).toEqual(['task'])
    expect(Object.keys(replied.json())).toEqual(['message'])
    expect(got.json()).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(list.json()).toMatchObject({ tasks: [{ id }], nextPageToken: '' })
    expect(followed.json()).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    expect(Object.keys(canceled.json())).toEqual(['error'])
    expect(card.json()).toMatchObject({ name: 'Demo', supportedInterfaces: expect.any(Array) })
    expect(Object.keys(invalid.json())).toEqual(['error'])
  })

  it('OUT_003: -o json --stream is one object per line as it happens, and the last one is terminal or the error', async () => {
    const process = cli.start(['send', '-a', demo().server.url, 'slow', '--stream', '-o', 'json'], { input: '' })
    await process.until(/"artifactUpdate"/)
    // The first events are flushed while the task still works.
    expect(process.stdout()).not.toContain('COMPLETED')
    const { lines } = await process.result
    expect(lines()[0]).toHaveProperty('task')
    expect(lines().at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    const peer = await startRecordingPeer({ result: () => ({ error: { code: -32005, message: 'No such type' } }) })
    const [failed, usage] = await Promise.all([
      cli.run(['send', '-a', peer.origin, 'x', '--stream', '-o', 'json']),
      cli.run(['send', '-a', peer.origin, '--no-such-option', '--stream', '-o', 'json']),
    ])
    expect(failed.lines().at(-1)).toMatchObject({ error: { code: 'ContentTypeNotSupportedError' } })
    expect(usage.lines()).toMatchObject([{ error: { code: 'A2ACLI_ERR_USAGE' } }])
  })

  it('OUT_004: errors have one envelope over all transports, by their A2A name or a local code, with a hint', async () => {
    const { url } = demo().server
    const get = (transport: string) =>
      cli.run(['task', 'get', 'nothing', '-a', url, '--transport', transport, '-o', 'json'])
    const [rpc, rest, grpc] = await Promise.all(['JSONRPC', 'HTTP+JSON', 'GRPC'].map(get))
    for (const result of [rpc, rest, grpc]) {
      expect(Object.keys(result?.json())).toEqual(['error'])
      expect(result?.json().error).toMatchObject({
        ...{ code: 'TaskNotFoundError', a2aCode: -32001 },
        ...{ message: expect.stringMatching(/./), hint: expect.stringMatching(/./) },
      })
    }
    const unreachable = `http://127.0.0.1:${await closedPort()}`
    const page = await startHttpServer(respondWith(200, '<html></html>', { 'content-type': 'text/html' }))
    const peer = await startRecordingPeer({ result: () => ({ error: { code: -32603, message: 'broken' } }) })
    const local = await Promise.all([
      cli.run(['send', '-o', 'json', '--async', '--stream', 'x', '-a', url]),
      cli.run(['send', '-o', 'json', '-a', unreachable, 'x']),
      cli.run(['card', 'get', '-o', 'json', '-a', page]),
      cli.run(['send', '-o', 'json', '-a', peer.origin, 'x']),
    ])
    expect(local.map(({ json }) => json().error.code)).toEqual([
      ...['A2ACLI_ERR_USAGE', 'A2ACLI_ERR_UNREACHABLE', 'A2ACLI_ERR_CARD_NOT_FOUND', 'InternalError'],
    ])
    for (const { json } of local) expect(json().error.hint).toMatch(/./)
    for (const { json } of local.slice(0, 3)) expect(json().error).not.toHaveProperty('a2aCode')
    const text = await cli.run(['send', '-a', peer.origin, 'x'])
    expect([text.stdout, text.stderr]).toEqual(['', expect.stringMatching(/^error: .*broken.*\nhint: .+\n$/)])
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
    // An interactive command without a terminal is text as well.
    const chat = await cli.run(['chat', peer.origin], { input: 'x\n' })
    expect(chat.code).toBe(0)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them.
    expect(chat.stdout + chat.stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  })

  it('OUT_006: --async prints an object with the ids of the task and its context', async () => {
    const [json, text] = await Promise.all([send('wait', '--async', '-o', 'json'), send('wait', '--async')])
    expect(json.json().task).toMatchObject({ id: expect.stringMatching(/./), contextId: expect.stringMatching(/./) })
    expect([text.field('Task'), text.field('Context')]).toEqual([
      expect.stringMatching(/^\S+$/),
      expect.stringMatching(/^\S+$/),
    ])
    expect(text.stderr).toContain('still running')
  })

  it('OUT_007: --debug shows the exchange on stderr, and nothing more on stdout', async () => {
    const [plain, debug, grpc] = await Promise.all([
      send('count', '-o', 'json'),
      send('count', '-o', 'json', '--debug'),
      send('count', '-o', 'json', '--debug', '--transport', 'GRPC'),
    ])
    expect(plain.stderr).toBe('')
    expect(debug.stderr).toContain('> GET ')
    expect(debug.stderr).toContain('"method":"SendMessage"')
    expect(debug.stderr).toMatch(/^> a2a-version: 1\.0$/m)
    expect(debug.stderr).toMatch(/^< 200 /m)
    expect(grpc.stderr).toContain('/lf.a2a.v1.A2AService/SendMessage')
    for (const { json } of [plain, debug, grpc]) expect(Object.keys(json())).toEqual(['task'])
  })
})

describe('exit codes', () => {
  it('EXIT_001: 0, 1, 2, 3, 4 and 5 match the error of the command', async () => {
    const card = {
      securitySchemes: { own: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { own: { list: [] } } }],
    }
    const guarded = await startAuthenticatingAgent({
      card: () => card,
      accepts: ({ headers }) => headers.authorization === 'Bearer right',
    })
    const silent = await startRecordingPeer({ handle: ({ method }) => method === 'POST' })
    const page = await startHttpServer(respondWith(404, 'nothing here'))
    const run = async (...args: readonly string[]) => {
      const { code, stdout } = await cli.run([...args, '-o', 'json'])
      return [code, JSON.parse(stdout).error?.code]
    }
    const outcomes = await Promise.all([
      run('send', '-a', guarded.origin, 'x', '--bearer', 'right'),
      run('task', 'get', 'nothing', '-a', demo().server.url),
      run('card', 'get', '--agent-crad', 'x'),
      run('send', '-a', `http://127.0.0.1:${await closedPort()}`, 'x'),
      run('send', '-a', page, 'x'),
      run('send', '-a', guarded.origin, 'x'),
      run('send', '-a', guarded.origin, 'x', '--bearer', 'wrong'),
      run('send', '-a', silent.origin, 'x', '--timeout', '4s'),
    ])
    expect(outcomes).toEqual([
      [0, undefined],
      [1, 'TaskNotFoundError'],
      [2, 'A2ACLI_ERR_USAGE'],
      [3, 'A2ACLI_ERR_UNREACHABLE'],
      [3, 'A2ACLI_ERR_CARD_NOT_FOUND'],
      [4, 'A2ACLI_ERR_CREDENTIALS_MISSING'],
      [4, 'A2ACLI_ERR_AUTH_FAILED'],
      [5, 'A2ACLI_ERR_TIMEOUT'],
    ])
  })

  it('EXIT_002: a failed, rejected or interrupted task ends with 0 and a note on stderr', async () => {
    const [failed, rejected, asked, paused, streamed] = await Promise.all([
      send('fail'),
      send('reject'),
      send('ask'),
      send('auth'),
      send('fail', '--stream', '-o', 'json'),
    ])
    for (const { code } of [failed, rejected, asked, paused, streamed]) expect(code).toBe(0)
    expect(failed.stderr).toContain('warning: The task ended as TASK_STATE_FAILED')
    expect(streamed.stderr).toContain('warning: The task ended as TASK_STATE_FAILED')
    expect(rejected.stderr).toContain('warning: The task ended as TASK_STATE_REJECTED')
    expect(asked.stderr).toContain('needs an answer')
    expect(paused.stderr).toContain('needs authorization')
  })
})
