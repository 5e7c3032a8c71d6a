import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred } from '../../test/support/async.ts'
import { A2AError } from '../protocol/errors.ts'

it('answers with a message when the agent returns a string', async () => {
  const { service } = createTestRuntime(async (turn) => `You said: ${turn.text}`)
  const outcome = await send(service, 'hi')
  expect(outcome).toMatchObject({ type: 'message', message: { role: 'agent', parts: [{ text: 'You said: hi' }] } })
  expect(outcome.type === 'message' && outcome.message.taskId).toBeUndefined()
  expect((await service.listTasks({}, callOf())).totalSize).toBe(0)
})

it('makes a task, once, when the agent touches it', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const out = turn.artifact('a.txt')
    await out.write('one ')
    await out.close('two')
    await turn.data({ n: 1 })
  })
  const task = taskOf(await send(service, 'hi'))
  expect(task.status.state).toBe('completed')
  expect(task.artifacts).toMatchObject([
    { name: 'a.txt', parts: [{ text: 'one ' }, { text: 'two' }] },
    { name: 'data', parts: [{ data: { n: 1 } }] },
  ])
  expect((await service.listTasks({}, callOf())).totalSize).toBe(1)
})

it('can be copied and taken apart', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const { data, ...copy } = { ...turn, text: 'another text' }
    await data({ aborted: copy.signal.aborted, text: copy.text, said: copy.history.length })
  })
  const { artifacts } = taskOf(await send(service, 'hi'))
  const said = { aborted: false, text: 'another text', said: 0 }
  expect(artifacts).toMatchObject([{ parts: [{ data: said }] }])
})

it('streams what a generator yields as an artifact and ends the task with what it returns', async () => {
  const { service } = createTestRuntime(async function* () {
    yield 'a'
    yield 'b'
    return 'done'
  })
  const events = await collect(service.streamMessage({ message: messageOf('go') }, callOf()))
  expect(events.map((event) => (event.type === 'status' ? event.status.state : event.type))).toEqual([
    'task',
    'artifact',
    'artifact',
    'artifact',
    'completed',
  ])
  expect(events[1]).toMatchObject({ artifact: { name: 'response', parts: [{ text: 'a' }] } })
  expect(events[2]).toMatchObject({ append: true, artifact: { parts: [{ text: 'b' }] } })
  expect(events[3]).toMatchObject({ append: true, lastChunk: true })
  expect(events[4]).toMatchObject({ status: { message: { parts: [{ text: 'done' }] } } })
})

it('completes a task whose agent returns without a terminal state', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working')
  })
  expect(taskOf(await send(service, 'hi')).status.state).toBe('completed')
})

it('completes as a task when the agent says nothing at all', async () => {
  const { service } = createTestRuntime(() => undefined)
  expect(taskOf(await send(service, 'hi')).status.state).toBe('completed')
})

it('fails the task of an agent that throws, and tells the caller nothing that may be secret', async () => {
  const { service } = createTestRuntime(async () => {
    throw new Error('password=hunter2 at /home/me')
  })
  const { status } = taskOf(await send(service, 'hi'))
  expect(status.state).toBe('failed')
  expect(JSON.stringify(status)).not.toContain('hunter2')
  expect(JSON.stringify(status.message)).toMatch(/failed unexpectedly \(reference [0-9a-f]{8}\)/)
})

it('tells the caller what an agent says in an A2AError', async () => {
  const { service } = createTestRuntime(() => {
    throw new A2AError('invalid-params', 'I only know English.')
  })
  expect(taskOf(await send(service, 'hi')).status.message?.parts).toEqual([{ text: 'I only know English.' }])
})

it.each(['fail', 'reject'] as const)('ends the task with turn.%s', async (how) => {
  const { service } = createTestRuntime((turn) => turn[how]('no'))
  const { status } = taskOf(await send(service, 'hi'))
  expect(status).toMatchObject({ state: how === 'fail' ? 'failed' : 'rejected', message: { parts: [{ text: 'no' }] } })
})

it('stores nothing after the terminal event, and only one of those', async () => {
  let refused: unknown
  const { service, log } = createTestRuntime(async (turn) => {
    await turn.status('completed', 'first')
    await turn.status('failed', 'second').catch((error) => {
      refused = error
    })
    await turn
      .artifact('late')
      .write('x')
      .catch(() => {})
  })
  const task = taskOf(await send(service, 'hi'))
  expect(String(refused)).toContain('"failed" cannot follow "completed"')
  expect(task.status.message?.parts).toEqual([{ text: 'first' }])
  const stored = await log.read(task.id, 0)
  expect(stored.map(({ event }) => event.type)).toEqual(['message', 'status'])
})

it('resolves a write only when it is stored', async () => {
  const seen: number[] = []
  const { service, log } = createTestRuntime(async (turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 3; n++) {
      await out.write('x')
      seen.push((await log.head(turn.taskId))?.generation ?? 0)
    }
  })
  await send(service, 'hi')
  expect(seen).toEqual([3, 4, 5])
})

it('stores what was emitted without waiting, in order, before the end', async () => {
  const { service } = createTestRuntime((turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 500; n++) void out.write(`${n},`)
  })
  const task = taskOf(await send(service, 'hi'))
  const text = task.artifacts[0]?.parts.map((part) => ('text' in part ? part.text : '')).join('')
  expect(text).toBe(Array.from({ length: 500 }, (_, n) => `${n},`).join(''))
  expect(task.status.state).toBe('completed')
})

it('stops an agent that emits without end and without waiting, instead of running out of memory', async () => {
  const { service } = createTestRuntime((turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 100_002; n++) void out.write('x')
  })
  const { status } = taskOf(await send(service, 'hi'))
  expect(status.state).toBe('failed')
  expect(JSON.stringify(status.message)).toContain('faster than they could be stored')
})

it('makes a task of a turn that takes long to answer', async () => {
  const answer = deferred<string>()
  const { service } = createTestRuntime(() => answer.promise, { taskAfter: 20 })
  const stream = service.streamMessage({ message: messageOf('hi') }, callOf())
  const first = await stream.next()
  expect(first.value).toMatchObject({ type: 'task', task: { status: { state: 'working' } } })
  answer.resolve('at last')
  const second = await stream.next()
  expect(second.value).toMatchObject({ status: { state: 'completed', message: { parts: [{ text: 'at last' }] } } })
})

it('fails a turn that passes its deadline, and aborts its signal', async () => {
  let aborted = false
  const options = { turnDeadline: 30, cancelGrace: 30 }
  const { service } = createTestRuntime(async (turn) => {
    turn.signal.addEventListener('abort', () => {
      aborted = true
    })
    await turn.status('working')
    await new Promise(() => {})
  }, options)
  const { status } = taskOf(await send(service, 'hi'))
  expect(aborted).toBe(true)
  expect(status.state).toBe('failed')
  expect(JSON.stringify(status.message)).toContain('deadline of 30 ms')
})

it('returns the task at once when asked to', async () => {
  const answer = deferred<string>()
  const { service } = createTestRuntime(() => answer.promise)
  const task = taskOf(await send(service, 'hi', { returnImmediately: true }))
  expect(task.status.state).toBe('working')
  const subscribed = service.subscribeToTask({ taskId: task.id }, callOf())
  await subscribed.next()
  answer.resolve('later')
  expect((await collect(subscribed)).at(-1)).toMatchObject({
    status: { state: 'completed', message: { parts: [{ text: 'later' }] } },
  })
})

it('gives the turn the text, the principal, the metadata and the accepted modes', async () => {
  let seen: unknown
  const { service } = createTestRuntime((turn) => {
    const { text, principal, metadata, acceptedOutputModes, history, task } = turn
    seen = { text, principal, metadata, acceptedOutputModes, history, task }
    return 'ok'
  })
  const message = messageOf('', { parts: [{ text: 'a' }, { data: 1 }, { text: 'b' }] })
  const configuration = { acceptedOutputModes: ['text/plain'] }
  await service.sendMessage({ message, metadata: { k: 'v' }, configuration }, callOf({ principal: { id: 'ann' } }))
  expect(seen).toEqual({
    text: 'a\nb',
    principal: { id: 'ann' },
    metadata: { k: 'v' },
    acceptedOutputModes: ['text/plain'],
    history: [],
    task: undefined,
  })
})
