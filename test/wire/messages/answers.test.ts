import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { answerKey } from '../../../src/core/protocol/extensions/answer.ts'
import { textOf } from '../../../src/core/protocol/model.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { shareTestServer, startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'
import type { WireOutcome } from '../../support/wire/wire-client.ts'

/** Writes an artifact and returns a text. */
async function reportAgent(turn: Turn): Promise<string> {
  await turn.artifact('report').close('numbers')
  return 'See the report.'
}

const report = { name: 'report', parts: [{ text: 'numbers' }] }

const answer = {
  artifactId: expect.stringMatching(/^answer-/),
  name: 'answer',
  parts: [{ text: 'See the report.' }],
  metadata: { [answerKey]: { messageId: expect.any(String) } },
}

const get = shareTestServer(reportAgent, { grpc: true })

describe.each(dialectBindings)('%s over %s', (dialect, binding) => {
  it('the client finds the answer in the status, and the artifacts without it', async () => {
    const service = await openService(get().server.url, dialect, binding)
    const alias = (name: string) => (dialect === 'v0.1' ? { quirks: { alias: `${name}-${dialect}` } } : {})
    const sent = taskOf(await service.sendMessage({ message: messageOf('go'), ...alias('a') }, callOf()))
    expect(sent.artifacts).toMatchObject([report])
    expect(sent.status.message && textOf(sent.status.message)).toBe('See the report.')
    const events = await collect(service.streamMessage({ message: messageOf('go'), ...alias('b') }, callOf()))
    const names = events.flatMap((event) => (event.type === 'artifact' ? [event.artifact.name] : []))
    expect(names).toEqual(['report'])
    const last = events.at(-1)
    expect(last?.type === 'status' && last.status.message && textOf(last.status.message)).toBe('See the report.')
  })
})

describe('over JSON-RPC in 1.0', () => {
  it('the answer is the last artifact of a task that has others, and the status repeats nothing', async () => {
    const { wire } = get()
    const task = await wire.sendTask('go')
    expect(task.artifacts).toMatchObject([report, answer])
    expect(task.status).toEqual({ state: 'TASK_STATE_COMPLETED', timestamp: expect.any(String) })
    expect(await wire.result('GetTask', { id: task.id })).toMatchObject({ artifacts: [report, answer] })
  })

  it('a list shows the answer as an artifact only if it shows artifacts', async () => {
    const { wire } = get()
    const { contextId } = await wire.sendTask('go')
    const full = await wire.result('ListTasks', { contextId, includeArtifacts: true })
    expect(full).toMatchObject({ tasks: [{ artifacts: [report, answer] }] })
    const brief = await wire.result<{ tasks: object[] }>('ListTasks', { contextId })
    expect(brief).toMatchObject({ tasks: [{ status: { message: { parts: answer.parts } } }] })
    expect(brief.tasks[0]).not.toHaveProperty('artifacts')
  })

  it('a stream has the answer as an artifact before the last status, which carries the number of both', async () => {
    const events = await streamOf(get().wire)
    expect(events.slice(-2)).toMatchObject([
      { generation: undefined, result: { artifactUpdate: { artifact: answer, lastChunk: true } } },
      { generation: expect.any(Number), result: { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } } },
    ])
    expect(events.at(-1)?.result?.statusUpdate?.status).not.toHaveProperty('message')
  })

  it('a reader that shows only statuses and says so by its extension gets the answer there', async () => {
    const headers = { 'a2a-extensions': 'https://a2ui.org/a2a-extension/a2ui/v0.8' }
    const events = await streamOf(get().wire, headers)
    expect(events.at(-1)).toMatchObject({ result: { statusUpdate: { status: { message: { parts: answer.parts } } } } })
    expect(JSON.stringify(events)).not.toContain(answerKey)
    const task = await get().wire.sendTask('go', {}, headers)
    expect(task).toMatchObject({ status: { message: { parts: answer.parts } }, artifacts: [report] })
    expect(task.artifacts).toHaveLength(1)
  })
})

it('turns.answers puts the answer into the status or among the artifacts, whatever else the task has', async () => {
  const inStatus = await startTestServer(reportAgent, { turns: { answers: 'status' } })
  const shown = await inStatus.wire.sendTask('go')
  expect(shown).toMatchObject({ status: { message: { parts: answer.parts } }, artifacts: [report] })
  const working = async (turn: Turn) => {
    await turn.status('working')
    return 'See the report.'
  }
  const inArtifact = await startTestServer(working, { turns: { answers: 'artifact' } })
  expect((await inArtifact.wire.sendTask('go')).artifacts).toMatchObject([answer])
  const byDefault = await startTestServer(working)
  const plain = await byDefault.wire.sendTask('go')
  expect(plain).toMatchObject({ status: { message: { parts: answer.parts } } })
  expect(plain).not.toHaveProperty('artifacts')
})

it("Microsoft's framework gets the answer to an unstreamed call as an artifact, and nothing else changes", async () => {
  const { wire } = await startTestServer(async (turn: Turn) => {
    await turn.status('working')
    return turn.text === 'fail' ? await turn.fail('No report.') : 'See the report.'
  })
  const headers = { 'user-agent': 'agent-framework-python/1.0.0b1' }
  const shown = await wire.sendTask('go', {}, headers)
  expect(shown).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [answer] })
  expect(await wire.result('GetTask', { id: shown.id }, headers)).toMatchObject({ artifacts: [answer] })
  const plain = await wire.result<object>('GetTask', { id: shown.id })
  expect(plain).toMatchObject({ status: { message: { parts: answer.parts } } })
  expect(plain).not.toHaveProperty('artifacts')
  expect((await wire.sendTask('fail', {}, headers)).artifacts).toMatchObject([{ parts: [{ text: 'No report.' }] }])
  const events = await streamOf(wire, headers)
  expect(events.at(-1)).toMatchObject({ result: { statusUpdate: { status: { message: { parts: answer.parts } } } } })
})

it('an artifact of an earlier turn counts like one of the turn that answers', async () => {
  const { wire } = await startTestServer(async (turn: Turn) => {
    if (turn.task) return 'See the report.'
    await turn.artifact('report').close('numbers')
    return await turn.requireInput('More?')
  })
  const { id: taskId } = await wire.sendTask('go')
  expect((await wire.sendTask('no', { taskId })).artifacts).toMatchObject([report, answer])
})

async function streamOf(wire: ReturnType<typeof get>['wire'], headers: Record<string, string> = {}) {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] }
  const events = await collect(wire.stream('SendStreamingMessage', { message }, { headers }))
  return events as readonly { generation: number | undefined; result?: WireOutcome }[]
}
