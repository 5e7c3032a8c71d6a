import { expect, it } from 'vitest'
import { z } from 'zod'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred } from '../../../../test/support/async.ts'
import { scriptedModel, textReply, toolCalls } from '../../../../test/support/models/scripted-model.ts'
import { never, simulateProcesses, startTask } from '../../../../test/support/processes/simulated-processes.ts'
import { connect } from '../../../entries/client.ts'
import { agent } from '../../../entries/index.ts'
import { createAgentLoop, localTool } from '../../../entries/loop.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { TraceEntry } from '../../protocol/events.ts'
import type { TaskLog } from '../../tasks/log.ts'

async function entriesOf(log: TaskLog, taskId: string): Promise<readonly TraceEntry[]> {
  return (await log.read(taskId, 0)).flatMap(({ event }) => event.traceChunk?.entries ?? [])
}

const child = await connect(agent({ name: 'Child' }, () => 'from the child'))

const answering: AgentFunction = async (turn) => {
  await turn.step('price', () => ({ price: 7, header: 'Authorization: Bearer abc123def456' }))
  await turn.call(child, 'How much?')
  await turn.status('working', 'Counted')
  await turn.step('broken', () => Promise.reject(new Error('out of stock'))).catch(() => {})
  return turn.status('completed', 'Done')
}

it('a trace has steps and calls with arguments, results and errors, without secrets', async () => {
  const { service, log } = createTestRuntime(answering, { trace: { content: true } })
  const { id } = taskOf(await send(service, 'go'))
  const entries = await entriesOf(log, id)
  expect(entries).toMatchObject([
    { type: 'step', name: 'price', output: '{"price":7,"header":"Authorization: Bearer ***"}' },
    { type: 'call', name: 'Child', input: expect.stringContaining('How much?'), output: 'from the child' },
    { type: 'step', name: 'broken', failure: { type: 'Error', message: 'out of stock' } },
  ])
  expect(entries.every(({ at, duration }) => at > 0 && duration >= 0)).toBe(true)
})

it('a trace has no content by default, and is off by option', async () => {
  const { service, log } = createTestRuntime(answering)
  const entries = await entriesOf(log, taskOf(await send(service, 'go')).id)
  expect(entries.map(({ name }) => name)).toEqual(['price', 'Child', 'broken'])
  expect(JSON.stringify(entries)).not.toMatch(/"(input|output|message)"/)
  const off = createTestRuntime(answering, { trace: false })
  expect(await entriesOf(off.log, taskOf(await send(off.service, 'go')).id)).toEqual([])
})

it('a trace costs no event, and callers never see it', async () => {
  const { service, log } = createTestRuntime(answering, { trace: { content: true } })
  const events = await collect(service.streamMessage({ message: messageOf('go') }, callOf()))
  expect(JSON.stringify(events)).not.toContain('traceChunk')
  const last = events.at(-1)
  const taskId = last?.type === 'status' ? last.taskId : ''
  expect(JSON.stringify(await service.getTask({ taskId }, callOf()))).not.toContain('traceChunk')
  const stored = await log.read(taskId, 0)
  expect(JSON.stringify(stored)).toContain('traceChunk')
  expect([...new Set(stored.map(({ event }) => event.type))]).toEqual(['message', 'status'])
})

it('a loop records its model requests and tool calls, with tokens', async () => {
  const add = localTool({ name: 'add', input: z.object({ n: z.number() }), run: ({ n }) => ({ sum: n + 1 }) })
  const model = scriptedModel(toolCalls(['add', '{"n":1}']), textReply('It is 2'))
  const { service, log } = createTestRuntime(createAgentLoop({ model, tools: [add] }), { trace: { content: true } })
  const entries = await entriesOf(log, taskOf(await send(service, 'add one')).id)
  expect(entries).toMatchObject([
    { type: 'model', inputTokens: expect.any(Number), input: expect.stringContaining('add one') },
    { type: 'tool', name: 'add', input: '{"n":1}', output: '{"sum":2}' },
    { type: 'model', output: 'It is 2' },
  ])
})

it('a trace ends at its limit, also over several turns', async () => {
  const { service, log } = createTestRuntime(
    async (turn) => {
      for (let at = 0; at < 4; at++) await turn.step(`step ${at}`, () => at)
      return turn.text === 'last' ? turn.status('completed') : turn.requireInput('More?')
    },
    { trace: { entries: 6 } },
  )
  const { id } = taskOf(await send(service, 'first'))
  await send(service, 'last', { taskId: id })
  const entries = await entriesOf(log, id)
  expect(entries.map(({ type }) => type)).toEqual(['step', 'step', 'step', 'step', 'step', 'limit'])
})

it('a trace stays below its bytes', async () => {
  const { service, log } = createTestRuntime(
    async (turn) => {
      for (let at = 0; at < 20; at++) await turn.step(`step ${at}`, () => 'x'.repeat(900))
      return turn.status('completed')
    },
    { trace: { bytes: 4_096, content: true } },
  )
  const entries = await entriesOf(log, taskOf(await send(service, 'go')).id)
  expect(JSON.stringify(entries).length).toBeLessThan(4_500)
  expect(entries.length).toBeGreaterThan(5)
  expect(entries.at(-1)?.type).toBe('limit')
})

it('a resumed turn records only what it does anew', async () => {
  const { log, start, ended } = simulateProcesses()
  const reached = deferred()
  const code =
    (after: () => unknown): AgentFunction =>
    async (turn) => {
      await turn.step('pay', () => 1)
      await turn.step('slow', after)
      return turn.status('completed')
    }
  const first = start(
    code(() => {
      reached.resolve()
      return never()
    }),
  )
  const id = await startTask(first)
  await reached.promise
  first.kill()
  start(code(() => 2))
  await ended(id)
  expect((await entriesOf(log, id)).map(({ name }) => name)).toEqual(['pay', 'slow'])
})
