import { describe, expect, it } from 'vitest'
import { countingAgent, describeEvent } from '../../../test/contracts/service/contract.ts'
import { collect } from '../../../test/support/async.ts'
import { agentRoute, cardRoute, createLocalHandler, fakePeer } from '../../../test/support/servers/local-handler.ts'
import type { Turn } from '../agent/turn.ts'
import { connect } from './connect.ts'
import { data } from './send-request.ts'

const rpcCard = {
  name: 'Test',
  supportedInterfaces: [{ url: 'http://localhost/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
}

/** Returns what it received. */
async function inspect(turn: Turn): Promise<void> {
  await turn.artifact('parts').close(turn.message.parts)
  await turn.data({ metadata: turn.metadata, modes: turn.acceptedOutputModes, contextId: turn.contextId }, 'rest')
}

describe('the input of send', () => {
  it('text, parts, files, bytes and data can be sent together', async () => {
    const client = await connect(createLocalHandler(inspect, { inputModes: 'unchecked' }))
    const stream = new Blob(['three']).stream()
    const { artifacts } = await client.send([
      'text',
      { url: 'https://example.com/a.png', mediaType: 'image/png' },
      new Blob(['one'], { type: 'text/plain' }),
      new File(['two'], 'two.txt', { type: 'text/plain' }),
      new Uint8Array([0, 255]),
      { name: 'three.bin', content: stream },
      { name: 'four.md', content: '# Four', mediaType: 'text/markdown' },
      { name: 'five', content: new URL('https://example.com/five') },
      data({ six: [6] }),
    ])
    expect(artifacts[0]?.artifact.parts).toEqual([
      { text: 'text' },
      { url: 'https://example.com/a.png', mediaType: 'image/png' },
      { raw: btoa('one'), mediaType: 'text/plain' },
      { raw: btoa('two'), mediaType: 'text/plain', filename: 'two.txt' },
      { raw: 'AP8=', mediaType: 'application/octet-stream' },
      { raw: btoa('three'), filename: 'three.bin' },
      { raw: btoa('# Four'), filename: 'four.md', mediaType: 'text/markdown' },
      { url: 'https://example.com/five', filename: 'five' },
      { data: { six: [6] }, mediaType: 'application/json' },
    ])
  })

  it('input that is empty or of another type is rejected', async () => {
    const client = await connect(createLocalHandler(inspect))
    await expect(client.send([])).rejects.toMatchObject({ code: 'invalid-params' })
    const broken = new ReadableStream<Uint8Array>({
      pull() {
        throw new Error('disk on fire')
      },
    })
    for (const wrong of [{ nothing: 1 }, undefined, null, 7, [null], { name: 'x', content: broken }]) {
      await expect(client.send(wrong as never)).rejects.toMatchObject({ name: 'A2AError', code: 'invalid-params' })
    }
  })

  it('sends of two clients under one key are one', async () => {
    let runs = 0
    const handler = createLocalHandler(async () => `run ${++runs}`)
    const sends = [await connect(handler), await connect(handler)].map((client) =>
      client.send('once', { idempotencyKey: 'today' }),
    )
    expect((await Promise.all(sends)).map(({ text }) => text)).toEqual(['run 1', 'run 1'])
  })

  it('metadata, output modes and a context are sent with the message', async () => {
    const client = await connect(createLocalHandler(inspect))
    const { artifacts } = await client.send('x', {
      metadata: { a: 1 },
      acceptedOutputModes: ['text/plain'],
      contextId: 'mine',
    })
    expect(artifacts[1]?.data).toEqual([{ metadata: { a: 1 }, modes: ['text/plain'], contextId: 'mine' }])
  })
})

describe('the reply of send', () => {
  it('a message becomes a reply with its text', async () => {
    const reply = await (await connect(createLocalHandler(countingAgent))).send('hello')
    expect(reply).toMatchObject({ type: 'message', text: 'hi', artifacts: [], message: { role: 'agent' } })
  })

  it('a task becomes a reply with the answer of the agent, and its artifacts beside it', async () => {
    const reply = await (await connect(createLocalHandler(countingAgent))).send('count')
    expect(reply).toMatchObject({
      type: 'task',
      text: 'Counted',
      output: { text: 'onetwothree', data: [], files: [] },
      task: { status: { state: 'completed' } },
    })
    expect(reply.artifacts.map(({ name, text }) => [name, text])).toEqual([['numbers', 'onetwothree']])
  })

  it('a task without a final message becomes a reply with the text of its artifacts, or of its last message', async () => {
    const client = await connect(
      createLocalHandler(async (turn) => {
        await turn.artifact('answer').close('From the artifact')
        await turn.status('completed')
      }),
    )
    expect((await client.send('go')).text).toBe('From the artifact')
    const message = (role: string, text: string) => ({ messageId: text, role, parts: [{ text }] })
    const task = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED' },
      history: [message('ROLE_USER', 'Hello'), message('ROLE_AGENT', 'From the history')],
    }
    const peer = fakePeer(cardRoute(rpcCard), () => Response.json({ jsonrpc: '2.0', result: { task } }))
    expect((await (await connect(peer)).send('go')).text).toBe('From the history')
  })

  it('a task without artifacts becomes a reply with the text of its status', async () => {
    expect((await (await connect(createLocalHandler(countingAgent))).send('fail')).text).toBe('Out of fingers')
  })

  it('a reply has the files and data of the artifacts', async () => {
    const client = await connect(
      createLocalHandler(async (turn) => {
        await turn.file({ name: 'a.bin', content: new Uint8Array([1, 2]), mediaType: 'application/x-a' })
        await turn.file({ name: 'b', content: new URL('https://example.com/b') })
        await turn.data([1, 2])
      }),
    )
    const { artifacts } = await client.send('go')
    expect(artifacts.flatMap(({ files }) => files.map(({ name, url, bytes }) => ({ name, url, bytes })))).toEqual([
      { name: 'a.bin', url: undefined, bytes: new Uint8Array([1, 2]) },
      { name: 'b', url: 'https://example.com/b', bytes: undefined },
    ])
    expect(artifacts.flatMap((output) => output.data)).toEqual([[1, 2]])
  })

  it('send waits for the task even if the agent returns immediately', async () => {
    const handler = createLocalHandler(async (turn) => {
      await turn.status('working')
      await new Promise((resolve) => setTimeout(resolve, 50))
      await turn.status('completed', 'Done')
    })
    const hasty = async (request: Request) => {
      const text = await request.text()
      if (!text.includes('"SendMessage"')) return undefined
      const call = JSON.parse(text)
      call.params.configuration = { returnImmediately: true }
      const body = JSON.stringify(call)
      return await handler.fetch(new Request(request.url, { method: 'POST', body, headers: request.headers }))
    }
    const client = await connect(fakePeer(hasty, handler.fetch))
    expect((await client.send('go')).text).toBe('Done')
  })
})

describe('a task handle', () => {
  it('a task can be fetched, awaited, followed and canceled by its id', async () => {
    const client = await connect(createLocalHandler(countingAgent))
    const { task: started } = await client.send('wait', { returnImmediately: true })
    const task = client.task(started?.id ?? '')
    expect((await task.get()).status.state).toMatch(/submitted|working/)
    const reply = task.wait()
    expect((await task.cancel()).status.state).toBe('canceled')
    expect((await reply).task?.status.state).toBe('canceled')
    expect((await collect(task.subscribe())).map(describeEvent)).toEqual(['task canceled'])
  })

  it('artifacts() returns the artifacts of the task', async () => {
    const client = await connect(createLocalHandler(countingAgent))
    const { task } = await client.send('count')
    expect((await client.task(task?.id ?? '').artifacts()).map(({ text }) => text)).toEqual(['onetwothree'])
  })

  it('push configs are rejected by an agent without push', async () => {
    const client = await connect(createLocalHandler(countingAgent))
    const { task } = await client.send('count')
    const { push } = client.task(task?.id ?? '')
    const refusal = { code: 'push-not-supported' }
    await expect(push.create({ url: 'https://example.com/hook' })).rejects.toMatchObject(refusal)
    await expect(push.get('c')).rejects.toMatchObject(refusal)
    await expect(collect(push.list())).rejects.toMatchObject(refusal)
    await expect(push.delete('c')).rejects.toMatchObject(refusal)
  })

  it('listTasks lists all pages, the newest task first', async () => {
    const client = await connect(createLocalHandler(countingAgent))
    const ids: string[] = []
    for (const _ of [1, 2, 3, 4, 5]) ids.unshift((await client.send('count')).task?.id ?? '')
    expect((await collect(client.listTasks({ pageSize: 2 }))).map(({ id }) => id)).toEqual(ids)
  })
})

describe('a conversation', () => {
  it('a conversation continues the task that needs input, and keeps its context', async () => {
    const client = await connect(createLocalHandler(countingAgent))
    const conversation = client.conversation()
    const question = await conversation.send('ask')
    expect(conversation.taskId).toBe(question.task?.id)
    const answer = await conversation.send('three')
    expect(answer.task).toMatchObject({ id: question.task?.id, status: { state: 'completed' } })
    expect(conversation.taskId).toBeUndefined()
    const events = await collect(conversation.stream('count'))
    expect(events[0]).toMatchObject({ type: 'task', task: { contextId: question.contextId } })
    expect(events[0]).not.toMatchObject({ task: { id: question.task?.id } })
    expect(conversation.contextId).toBe(question.contextId)
  })

  it('a conversation can be continued from its ids', async () => {
    const client = await connect(createLocalHandler(countingAgent))
    const { contextId, task } = await client.send('ask')
    const start = { contextId: contextId ?? '', taskId: task?.id ?? '' }
    expect((await client.conversation(start).send('three')).task?.id).toBe(task?.id)
  })
})

describe('authorize', () => {
  it('authorize is called for every request, and once more after a 401 response', async () => {
    const handler = createLocalHandler(countingAgent)
    let valid = 'one'
    const guard = (request: Request) => {
      const isValid = request.headers.get('authorization') === `Bearer ${valid}`
      return isValid ? undefined : new Response('', { status: 401, headers: { 'www-authenticate': 'Bearer' } })
    }
    const authorizations: unknown[] = []
    const client = await connect(fakePeer(guard, handler.fetch), {
      authorize({ card, challenge }) {
        authorizations.push([card?.name, challenge])
        return { headers: { authorization: `Bearer ${challenge === undefined ? 'one' : valid}` } }
      },
    })
    expect((await client.send('hello')).text).toBe('hi')
    valid = 'two'
    expect((await client.send('hello')).text).toBe('hi')
    expect(authorizations).toEqual([
      [undefined, undefined],
      ['Test', undefined],
      ['Test', undefined],
      ['Test', 'Bearer'],
    ])
  })

  it('credentials in the query do not appear in errors', async () => {
    const peer = fakePeer(
      (request) =>
        new URL(request.url).searchParams.get('key') === 's3cret' && request.method === 'POST'
          ? new Response('', { status: 500 })
          : undefined,
      createLocalHandler(countingAgent).fetch,
    )
    const client = await connect(peer, { authorize: () => ({ query: { key: 's3cret' } }) })
    const error = await client.send('hello').catch((thrown) => thrown)
    expect(error).toMatchObject({ name: 'A2AError', status: 500 })
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain('s3cret')
  })
})

describe('the capabilities of the card', () => {
  it('webhooks that are not declared are tried, and the error of an agent that refuses them names the card', async () => {
    const peer = fakePeer(cardRoute(rpcCard), agentRoute(createLocalHandler(countingAgent)))
    const client = await connect(peer)
    const message = expect.stringContaining('The card of Test does not declare push notifications.')
    const push = { url: 'https://example.com/hook' }
    const calls = [
      () => client.send('hello', { push }),
      () => client.stream('hello', { push }).next(),
      () => client.task('t').push.create(push),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'push-not-supported', reason: 'not-declared', message })
    }
  })

  it('webhooks of an agent that does not declare them are registered', async () => {
    const peer = fakePeer(cardRoute(rpcCard), async (request) => {
      const { params } = await request.json()
      return Response.json({ jsonrpc: '2.0', result: params })
    })
    const config = await (await connect(peer)).task('t').push.create({ url: 'https://example.com/hook' })
    expect(config).toMatchObject({ taskId: 't', url: 'https://example.com/hook' })
  })

  it('an extended card that is not declared is not fetched', async () => {
    const peer = fakePeer(cardRoute(rpcCard), agentRoute(createLocalHandler(countingAgent)))
    const client = await connect(peer)
    await expect(client.extendedCard()).rejects.toMatchObject({ code: 'extended-card-not-configured' })
    expect(peer.requestLines.filter((line) => line.startsWith('POST'))).toEqual([])
  })

  it('an agent whose extended card declares streaming is streamed from', async () => {
    const extended = { ...rpcCard, capabilities: { streaming: true } }
    const handler = createLocalHandler(countingAgent)
    const methods: string[] = []
    const peer = fakePeer(
      cardRoute({ ...rpcCard, capabilities: { extendedAgentCard: true } }),
      async (request) => {
        const { method } = await request.clone().json()
        methods.push(method)
        return method === 'GetExtendedAgentCard' ? Response.json({ jsonrpc: '2.0', result: extended }) : undefined
      },
      agentRoute(handler),
    )
    const client = await connect(peer, { polling: { minDelay: 1 } })
    await collect(client.stream('count'))
    expect(methods).not.toContain('SendStreamingMessage')
    await client.extendedCard()
    await collect(client.stream('count'))
    expect(methods).toContain('SendStreamingMessage')
  })

  it('an agent whose card does not declare streaming is polled', async () => {
    const peer = fakePeer(cardRoute(rpcCard), agentRoute(createLocalHandler(countingAgent)))
    const notices: string[] = []
    const client = await connect(peer, { onNotice: ({ type }) => notices.push(type), polling: { minDelay: 1 } })
    const events = await collect(client.stream('count'))
    expect(events.at(-1)).toMatchObject({ isLast: true })
    expect(notices).toContain('polling')
  })

  it('an agent that refuses to stream by an internal error is polled', async () => {
    const refuse = async (request: Request) =>
      request.method === 'POST' && (await request.clone().text()).includes('SendStreamingMessage')
        ? Response.json({ jsonrpc: '2.0', error: { code: -32603, message: 'Internal error' } })
        : undefined
    const peer = fakePeer(refuse, createLocalHandler(countingAgent).fetch)
    const events = await collect((await connect(peer, { polling: { minDelay: 1 } })).stream('count'))
    expect(events.at(-1)).toMatchObject({ isLast: true })
  })

  it('the client continues with the extended card', async () => {
    const extended = { ...rpcCard, name: 'Extended', capabilities: { pushNotifications: true } }
    const peer = fakePeer(cardRoute({ ...rpcCard, capabilities: { extendedAgentCard: true } }), () =>
      Response.json({ jsonrpc: '2.0', result: extended }),
    )
    const client = await connect(peer)
    expect(client.card.name).toBe('Test')
    expect((await client.extendedCard()).name).toBe('Extended')
    expect(client.card.name).toBe('Extended')
    await expect(client.task('t').push.create({ url: 'https://example.com' })).rejects.not.toMatchObject({
      reason: 'not-declared',
    })
  })
})

describe('the timeout of a client', () => {
  it('bounds a send whose task does not end, and names the task', async () => {
    const working = { id: 'T7', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
    const peer = fakePeer(cardRoute(rpcCard), async (request) => {
      const { method } = await request.json()
      if (method === 'SubscribeToTask') return Response.json({ jsonrpc: '2.0', error: { code: -32601, message: 'No' } })
      return Response.json({ jsonrpc: '2.0', result: method === 'SendMessage' ? { task: working } : working })
    })
    const client = await connect(peer, { timeout: 200, polling: { minDelay: 5, maxDelay: 10 } })
    await expect(client.send('go')).rejects.toMatchObject({
      code: 'timeout',
      reason: 'deadline',
      message: 'The task T7 did not end within 0.2 seconds.',
      metadata: { taskId: 'T7' },
    })
  })
})

describe('an agent of an older version', () => {
  const card = { name: 'Test', url: 'http://localhost/', protocolVersion: '0.3.0', capabilities: { streaming: true } }

  it('an agent of an older version may send single parts, the state started, and messages without an id', async () => {
    const task = {
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: { state: 'started' },
      history: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }],
    }
    const update = { kind: 'artifact-update', taskId: 't', contextId: 'c', index: 0 }
    const events = [
      task,
      { ...update, part: { kind: 'text', text: 'One, ', index: 0, append: false } },
      { ...update, part: { kind: 'text', text: 'two', index: 0, append: true } },
      { kind: 'status-update', taskId: 't', contextId: 'c', status: { state: 'completed' }, final: true },
    ]
    const text = events.map((result) => `data: ${JSON.stringify({ jsonrpc: '2.0', result })}\n\n`).join('')
    const answer = () => new Response(text, { headers: { 'content-type': 'text/event-stream' } })
    const client = await connect(fakePeer(cardRoute(card), answer))
    expect((await collect(client.stream('hello'))).map(describeEvent)).toEqual([
      'task submitted',
      'artifact One, ',
      'artifact two, more',
      'status completed',
    ])
  })

  it('an agent of an older version has no list of tasks, and the hint says so', async () => {
    const answer = () =>
      Response.json({ jsonrpc: '2.0', error: { code: -32601, message: 'Method not found: tasks/list' } })
    const client = await connect(fakePeer(cardRoute(card), answer))
    await expect(collect(client.listTasks())).rejects.toMatchObject({
      hint: 'A2A 0.3 has no list of tasks: keep the ids of your tasks, or call an agent that speaks 1.0.',
    })
  })

  it('an agent of an older version is sent a list of output modes, which some agents require', async () => {
    const peer = fakePeer(cardRoute(card))
    await (await connect(peer)).send('hello').catch(() => {})
    const [, request] = peer.requests
    expect(await request?.json()).toMatchObject({ params: { configuration: { acceptedOutputModes: [] } } })
  })
})
