import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'

class Order {
  readonly id = 7
}

const circle: Record<string, unknown> = {}
circle.self = circle

/** Values that cannot be sent. */
const values: Readonly<Record<string, unknown>> = {
  number: 5,
  boolean: false,
  'empty list': [],
  'list of numbers': [1, 2],
  'list with undefined': ['a', undefined],
  instance: new Order(),
  date: new Date(),
  'part without a value': { text: undefined },
  'part with a number': { text: 5 },
  'data with a function': { data: { run: () => 1 } },
  'circular object': circle,
}

const problem = 'The agent gave an answer that cannot be sent'

/** Gives the value that the message names, in the way that its first word says. */
function giving(turn: Turn): unknown {
  const [way = '', ...words] = turn.text.split(' ')
  const value = values[words.join(' ')]
  return way === 'return' ? value : emit(turn, way, value as never)
}

async function emit(turn: Turn, way: string, value: never): Promise<void> {
  await turn.status('working', 'Started')
  if (way === 'status') await turn.status('working', value)
  else if (way === 'artifact') await turn.artifact('a').write(value)
  else if (way === 'data') await turn.data(value === 5 || value === false ? (circle as never) : value)
  else if (way === 'file') await turn.file({ name: 'a', content: value })
  else if (way === 'metadata') await turn.status('working', 'ok', { metadata: value })
}

async function errorOf(work: Promise<unknown>): Promise<A2AError> {
  const error = await work.then(
    (result) => new Error(`expected an error, got ${JSON.stringify(result)}`),
    (caught: unknown) => caught,
  )
  if (error instanceof A2AError) return error
  throw error
}

const send = (service: Service, text: string) => service.sendMessage({ message: messageOf(text) }, callOf())

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  it('a return value that cannot be sent is an invalid agent response, and the log has the cause', async () => {
    const errors: unknown[] = []
    const logger = { ...silentLogger, error: (fields: object) => void errors.push(fields) }
    const { server } = await startTestServer(giving as never, { grpc: true, logger })
    const service = await openService(server.url, dialect, binding)
    for (const name of Object.keys(values)) {
      const error = await errorOf(send(service, `return ${name}`))
      // 0.1 has no error for it.
      expect([name, error.code]).toEqual([name, dialect === 'v0.1' ? 'internal' : 'invalid-agent-response'])
      if (dialect !== 'v0.1') expect(error.message).toContain(problem)
    }
    expect(errors).toHaveLength(Object.keys(values).length)
    expect(errors).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ message: expect.stringContaining(problem) }) }),
    )
  })

  it('an emitted value that cannot be sent fails the task, which stays readable', async () => {
    const { server } = await startTestServer(giving as never, { grpc: true })
    const service = await openService(server.url, dialect, binding)
    for (const way of ['status', 'artifact', 'data', 'file', 'metadata']) {
      for (const name of ['number', 'list of numbers', 'instance']) {
        if (way === 'data' && name !== 'instance') continue
        const { id, status } = taskOf(await send(service, `${way} ${name}`))
        expect([way, name, status.state]).toEqual([way, name, 'failed'])
        const task = await service.getTask({ taskId: id }, callOf())
        expect(JSON.stringify(task.status.message?.parts)).toContain(problem)
      }
    }
  })
})

it('a stream of an agent that yields a value that cannot be sent ends with the failed task', async () => {
  let isClosed = false
  const { wire } = await startTestServer(async function* () {
    try {
      yield 'one'
      yield 5 as never
    } finally {
      isClosed = true
    }
  })
  const events = await collect(wire.sendStream('go'))
  expect(events.at(-1)?.result?.statusUpdate?.status).toMatchObject({ state: 'TASK_STATE_FAILED' })
  expect(JSON.stringify(events)).toContain(problem)
  expect(isClosed).toBe(true)
})

it('values that cannot be sent leave no task unreadable in a list', async () => {
  const { wire } = await startTestServer(giving as never)
  for (const name of Object.keys(values)) {
    const params = {
      message: { messageId: name, role: 'ROLE_USER', parts: [{ text: `artifact ${name}` }], contextId: 'c' },
    }
    await wire.call('SendMessage', params)
  }
  const page = await wire.result<{ tasks: unknown[] }>('ListTasks', { contextId: 'c', includeArtifacts: true })
  expect(page.tasks).toHaveLength(Object.keys(values).length)
})

it('an object, a file, bytes, and a message with metadata can be returned', async () => {
  const { wire } = await startTestServer(((turn: Turn) => {
    if (turn.text === 'object') return { total: 3 }
    if (turn.text === 'file') return { name: 'a.txt', content: 'hi', mediaType: 'text/plain' }
    if (turn.text === 'bytes') return new Uint8Array([1])
    return { parts: ['hi'], metadata: { a: 1 }, extensions: ['https://a.test/x'], referenceTaskIds: ['t'] }
  }) as never)
  const returned = async (text: string) => (await wire.send(text)).message
  expect((await returned('object'))?.parts).toEqual([{ data: { total: 3 }, mediaType: 'application/json' }])
  expect((await returned('file'))?.parts).toEqual([{ raw: 'aGk=', filename: 'a.txt', mediaType: 'text/plain' }])
  expect((await returned('bytes'))?.parts).toEqual([{ raw: 'AQ==' }])
  expect(await returned('message')).toMatchObject({
    parts: [{ text: 'hi' }],
    metadata: { a: 1 },
    extensions: ['https://a.test/x'],
    referenceTaskIds: ['t'],
  })
})
