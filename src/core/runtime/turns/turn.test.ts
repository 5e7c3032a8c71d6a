import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'
import { A2AError } from '../../protocol/errors.ts'

it('an agent that returns a string answers with a message', async () => {
  const { service } = createTestRuntime(async (turn) => `You said: ${turn.text}`)
  const outcome = await send(service, 'hi')
  expect(outcome).toMatchObject({ type: 'message', message: { role: 'agent', parts: [{ text: 'You said: hi' }] } })
  expect(outcome.type === 'message' && outcome.message.taskId).toBeUndefined()
  expect((await service.listTasks({}, callOf())).totalSize).toBe(0)
})

it('an agent that emits events creates one task', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const out = turn.artifact('a.txt')
    await out.write('one ')
    await out.close('two')
    await turn.data({ n: 1 })
  })
  const task = taskOf(await send(service, 'hi'))
  expect(task.status.state).toBe('completed')
  expect(task.artifacts).toMatchObject([
    { name: 'a.txt', parts: [{ text: 'one two' }] },
    { name: 'data', parts: [{ data: { n: 1 } }] },
  ])
  expect((await service.listTasks({}, callOf())).totalSize).toBe(1)
})

it('a turn can be copied and destructured', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const { data, ...copy } = { ...turn, text: 'another text' }
    await data({ aborted: copy.signal.aborted, text: copy.text, said: copy.history.length })
  })
  const { artifacts } = taskOf(await send(service, 'hi'))
  const said = { aborted: false, text: 'another text', said: 0 }
  expect(artifacts).toMatchObject([{ parts: [{ data: said }] }])
})

it('a generator streams an artifact and ends the task with its return value', async () => {
  const { service } = createTestRuntime(async function* () {
    yield 'a'
    yield 'b'
    return 'done'
  })
  const events = await collect(service.streamMessage({ message: messageOf('go') }, callOf()))
  expect(events.map((event) => (event.type === 'status' ? event.status.state : event.type))).toEqual([
    'task',
    'working',
    'artifact',
    'artifact',
    'completed',
  ])
  expect(events[2]).toMatchObject({ append: false, artifact: { name: 'response', parts: [{ text: 'a' }] } })
  expect(events[3]).toMatchObject({ append: true, lastChunk: true, artifact: { parts: [{ text: 'b' }] } })
  expect(events[4]).toMatchObject({ status: { message: { parts: [{ text: 'done' }] } } })
})

it('a task whose agent returns without a final state is completed', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working')
  })
  expect(taskOf(await send(service, 'hi')).status.state).toBe('completed')
})

it('an agent without any output completes a task', async () => {
  const { service } = createTestRuntime(() => undefined)
  expect(taskOf(await send(service, 'hi')).status.state).toBe('completed')
})

it('the task of an agent that throws fails without details for the caller', async () => {
  const { service } = createTestRuntime(async () => {
    throw new Error('password=hunter2 at /home/me')
  })
  const { status } = taskOf(await send(service, 'hi'))
  expect(status.state).toBe('failed')
  expect(JSON.stringify(status)).not.toContain('hunter2')
  expect(JSON.stringify(status.message)).toMatch(/failed unexpectedly \(reference [0-9a-f]{8}\)/)
})

it('an A2AError that rejects the message is the answer, until the agent touches the task', async () => {
  const violations = [{ field: 'message.parts[0]', description: 'expected English' }]
  const { service } = createTestRuntime(async (turn) => {
    if (turn.text === 'touched') await turn.status('working')
    throw new A2AError('invalid-params', 'I only know English.', { violations, retryAfter: 3 })
  })
  const rejected = { code: 'invalid-params', message: 'I only know English.', violations, retryAfter: 3 }
  await expect(send(service, 'hi')).rejects.toMatchObject(rejected)
  await expect(collect(service.streamMessage({ message: messageOf('hi') }, callOf()))).rejects.toMatchObject(rejected)
  const { status } = taskOf(await send(service, 'touched'))
  expect(status).toMatchObject({ state: 'failed', message: { parts: [{ text: 'I only know English.' }] } })
})

it('a caller that has its task at once gets a failed task when the agent rejects the message', async () => {
  const rejecting = createTestRuntime(() => {
    throw new A2AError('forbidden', 'Not you.')
  })
  const { service } = rejecting
  const request = { message: messageOf('hi'), configuration: { returnImmediately: true } }
  const { id } = taskOf(await service.sendMessage(request, callOf()))
  await expect.poll(async () => (await service.getTask({ taskId: id }, callOf())).status.state).toBe('failed')
  // A caller that named its task waits for the answer.
  const named = service.sendMessage({ message: messageOf('hi'), quirks: { alias: 'mine' } }, callOf())
  await expect(named).rejects.toMatchObject({ code: 'forbidden', message: 'Not you.' })
})

it.each([
  ['a failure of the agent', new A2AError('internal', 'Broken.')],
  ['an error of another agent', new A2AError('forbidden', 'Broken.', { url: 'https://a.test' })],
])('%s fails the task', async (_, error) => {
  const { service } = createTestRuntime(() => {
    throw error
  })
  expect(taskOf(await send(service, 'hi')).status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'Broken.' }] },
  })
})

it.each(['fail', 'reject'] as const)('turn.%s ends the task', async (how) => {
  const { service } = createTestRuntime((turn) => turn[how]('no'))
  const { status } = taskOf(await send(service, 'hi'))
  expect(status).toMatchObject({ state: how === 'fail' ? 'failed' : 'rejected', message: { parts: [{ text: 'no' }] } })
})

it('nothing is stored after the final status', async () => {
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
  expect(stored.map(({ event }) => (event.type === 'status' ? event.status.state : event.type))).toEqual([
    'message',
    'submitted',
    'completed',
  ])
})

it('with the durability each, a write resolves when it is stored', async () => {
  const seen: number[] = []
  const { service, log } = createTestRuntime(
    async (turn) => {
      const out = turn.artifact('x')
      for (let n = 0; n < 3; n++) {
        await out.write('x')
        seen.push((await log.head(turn.taskId))?.generation ?? 0)
      }
    },
    { durability: 'each' },
  )
  await send(service, 'hi')
  // After the message and the two statuses before the first chunk.
  expect(seen).toEqual([4, 5, 6])
})

it('events that were not awaited are stored in order before the final status', async () => {
  const { service } = createTestRuntime((turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 500; n++) void out.write(`${n},`)
  })
  const task = taskOf(await send(service, 'hi'))
  const text = task.artifacts[0]?.parts.map((part) => ('text' in part ? part.text : '')).join('')
  expect(text).toBe(Array.from({ length: 500 }, (_, n) => `${n},`).join(''))
  expect(task.status.state).toBe('completed')
})

it('an agent that emits too much without waiting is stopped', async () => {
  const { service } = createTestRuntime((turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 100_002; n++) void out.write('x')
  })
  const { status } = taskOf(await send(service, 'hi'))
  expect(status.state).toBe('failed')
  expect(JSON.stringify(status.message)).toContain('faster than they could be stored')
})

it('snapshots are stored while a task grows', async () => {
  const chunks = 5_000
  const { service, log } = createTestRuntime(async (turn) => {
    const report = turn.artifact('report')
    for (let n = 1; n <= chunks; n++) await report.write('x')
    await until(async () => ((await log.snapshot(turn.taskId))?.generation ?? 0) >= chunks / 2)
    return 'done'
  })
  expect(taskOf(await send(service, 'go')).status.state).toBe('completed')
})

it('a slow turn becomes a task', async () => {
  const answer = deferred<string>()
  const { service } = createTestRuntime(() => answer.promise, { taskAfter: 20 })
  const stream = service.streamMessage({ message: messageOf('hi') }, callOf())
  const first = await stream.next()
  expect(first.value).toMatchObject({ type: 'task', task: { status: { state: 'submitted' } } })
  expect((await stream.next()).value).toMatchObject({ status: { state: 'working' } })
  answer.resolve('at last')
  const last = await stream.next()
  expect(last.value).toMatchObject({ status: { state: 'completed', message: { parts: [{ text: 'at last' }] } } })
})

it('a turn has the text, the principal, the metadata and the accepted modes', async () => {
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
