import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { apiKeyCredentials } from '../../src/entries/client-auth.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { createAgentLoop, localTool } from '../../src/entries/loop.ts'
import { createMemoryLog } from '../../src/entries/server.ts'
import type { ConsoleAgent } from '../../src/operator/agents.ts'
import { readTrace } from '../../src/operator/tasks/trace.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { send } from '../support/agents/test-runtime.ts'
import { deferred, until } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'
import { scriptedModel, textReply, toolCalls } from '../support/models/scripted-model.ts'
import { never, simulateProcesses, startTask } from '../support/processes/simulated-processes.ts'
import { operatorOf } from '../support/servers/operator-login.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const shop = agent({ name: 'Shop', recovery: 'resume' }, async (turn) => {
  if (turn.text === 'fail') throw new Error('broken inside')
  await turn.step('price', () => ({ price: 7 }))
  const { text } = await turn.ask('Which colour?')
  await turn.usage({ model: 'small', inputTokens: 10, outputTokens: 2 })
  await turn.status('completed', `Painted ${text}`)
  return undefined
})

async function start(served = shop, options: ServeOptions = {}) {
  const server = await serve(served, {
    ...{ signals: false, directory: await temporaryDirectory(), logger: silentLogger, drainDeadline: 0 },
    ...options,
  })
  onTestFinished(() => server.close())
  return { server, operator: operatorOf(server) }
}

it('the trace of a task has its turn, steps, questions and usage', async () => {
  const { server, operator } = await start()
  const client = await connect(server.url)
  const asked = await client.send('chair')
  const taskId = asked.type === 'task' ? asked.task.id : ''
  const open = await operator.trace({ agent: 'shop', taskId })
  expect(open.rows).toMatchObject([
    { type: 'turn', state: 'running', input: 'chair' },
    { type: 'step', name: 'price' },
    { type: 'question', state: 'waiting', input: 'Which colour?' },
  ])
  await client.send('red', { taskId })
  const { rows, usage } = await operator.trace({ agent: 'shop', taskId })
  expect(rows).toMatchObject([
    { type: 'turn', name: 'Turn 1', depth: 0, state: 'completed', input: 'chair', output: 'Painted red' },
    { type: 'step', name: 'price', depth: 1, state: 'completed', output: '{"price":7}' },
    { type: 'question', depth: 1, state: 'completed', input: 'Which colour?', output: 'red' },
  ])
  expect(usage).toEqual({ inputTokens: 10, outputTokens: 2, models: ['small'] })
  for (const { started, ended = 0 } of rows) expect(ended).toBeGreaterThanOrEqual(started)
  const failed = await client.send('fail')
  const failedTask = failed.type === 'task' ? failed.task.id : ''
  const { rows: failedRows } = await operator.trace({ agent: 'shop', taskId: failedTask })
  expect(failedRows).toMatchObject([{ type: 'turn', state: 'failed' }])
})

it('the trace of a loop has model requests and tool calls, those that fail too, and links to the tracing system', async () => {
  const add = localTool({ name: 'add', input: z.object({ n: z.number() }), run: ({ n }) => ({ sum: n + 1 }) })
  const boom = localTool({ name: 'boom', input: z.object({}), run: () => Promise.reject(new Error('no stock')) })
  const model = scriptedModel(toolCalls(['add', '{"n":1}']), toolCalls(['boom', '{}']), textReply('It is 2'))
  const { server, operator } = await start(agent({ name: 'Shop' }, createAgentLoop({ model, tools: [add, boom] })), {
    trace: { url: 'https://traces.example.com/{traceId}' },
  })
  const client = await connect(server.url)
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const reply = await client.send('add one', { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } })
  const { rows } = await operator.trace({ agent: 'shop', taskId: reply.type === 'task' ? reply.task.id : '' })
  expect(rows.map(({ type, name, state }) => `${type} ${name} ${state}`)).toEqual([
    'turn Turn 1 completed',
    expect.stringMatching(/^model .* completed$/),
    'tool add completed',
    expect.stringMatching(/^model .* completed$/),
    'tool boom failed',
    expect.stringMatching(/^model .* completed$/),
  ])
  expect(rows[2]).toMatchObject({ input: '{"n":1}', output: '{"sum":2}' })
  expect(rows[4]?.failure).toBe('tool-failed: no stock')
  expect(rows[0]?.url).toBe(`https://traces.example.com/${traceId}`)
})

it('a server with auth records no arguments and results, unless it says so', async () => {
  const auth = { schemes: { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('secret-key') }] }) } }
  for (const [trace, output] of [
    [undefined, undefined],
    [{ content: true }, '{"price":7}'],
  ] as const) {
    const { server, operator } = await start(shop, { auth, ...(trace && { trace }) })
    const client = await connect(server.url, { auth: [apiKeyCredentials('secret-key')] })
    const asked = await client.send('chair')
    const { rows } = await operator.trace({ agent: 'shop', taskId: asked.type === 'task' ? asked.task.id : '' })
    expect(rows[1]).toMatchObject({ type: 'step', name: 'price' })
    expect(rows[1]?.output).toBe(output)
  }
})

it('a call leads to the task of the called agent', async () => {
  let url = ''
  const child = agent({ name: 'Child' }, (turn) => turn.status('completed', 'one chair'))
  const parent: ReturnType<typeof agent> = agent({ name: 'Parent' }, async (turn) => {
    await turn.call(`${url}/child`, 'How many?')
    await turn.status('completed')
  })
  const options = { signals: false, directory: await temporaryDirectory(), logger: silentLogger, drainDeadline: 0 }
  const server = await serve({ '/parent': parent, '/child': child }, options)
  onTestFinished(() => server.close())
  url = server.url
  const reply = await (await connect(`${url}/parent`)).send('go')
  const taskId = reply.type === 'task' ? reply.task.id : ''
  const { rows } = await operatorOf(server).trace({ agent: 'parent', taskId })
  expect(rows).toMatchObject([
    { type: 'turn' },
    { type: 'call', name: 'Child', depth: 1, task: { agent: 'child' }, output: 'one chair', state: 'completed' },
  ])
})

it('a turn that another process resumed has a row for each attempt', async () => {
  const { log, start: startProcess, ended } = simulateProcesses()
  const reached = deferred()
  const first = startProcess(async (turn) => {
    await turn.step('pay', () => 1)
    await turn.step('slow', () => {
      reached.resolve()
      return never()
    })
  })
  const taskId = await startTask(first)
  await reached.promise
  first.kill()
  startProcess(async (turn) => {
    await turn.step('pay', () => 1)
    await turn.step('slow', () => 2)
    return turn.status('completed', 'Done')
  })
  await ended(taskId)
  const { rows } = await readTrace({ all: () => [], get: missing }, consoleAgent(log), taskId)
  expect(rows).toMatchObject([
    { type: 'turn', name: 'Turn 1', state: 'interrupted', failure: expect.stringContaining('Another one continued') },
    { type: 'step', name: 'pay' },
    { type: 'turn', name: 'Turn 1, attempt 2', state: 'completed', output: 'Done', input: 'go' },
    { type: 'step', name: 'slow' },
  ])
})

it('every message begins a turn, and a question that ends one waits beside it', async () => {
  const { log, start: startProcess } = simulateProcesses({ recovery: 'fail' })
  const { service } = startProcess(async (turn) =>
    turn.text === 'go' ? turn.requireInput('Which size?') : turn.status('completed', `It is ${turn.text}`),
  )
  const taskId = await startTask({ service })
  await until(async () => (await log.head(taskId))?.phase === 'input-required')
  await send(service, 'small', { taskId })
  const { rows } = await readTrace({ all: () => [], get: missing }, consoleAgent(log), taskId)
  expect(rows.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'Turn 1 completed',
    'Question completed',
    'Turn 2 completed',
  ])
})

const missing = (): never => {
  throw new Error('There is no other agent.')
}

/** As much of an agent of the console as a trace needs. */
function consoleAgent(log: unknown): ConsoleAgent {
  return { id: 'test', path: '', agent: { log, options: {} } } as unknown as ConsoleAgent
}

it('a task that is erased has no trace', async () => {
  const { server, operator } = await start(shop, { log: createMemoryLog() })
  const asked = await (await connect(server.url)).send('chair')
  const taskId = asked.type === 'task' ? asked.task.id : ''
  await server.erase({ contextId: asked.type === 'task' ? (asked.task.contextId ?? '') : '' })
  await expect(operator.trace({ agent: 'shop', taskId })).rejects.toThrow('There is no task with this id.')
})
