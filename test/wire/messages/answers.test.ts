import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/core/client/connect.ts'
import { answerKey } from '../../../src/core/protocol/extensions/answer.ts'
import { textOf } from '../../../src/core/protocol/model.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { createLocalHandler } from '../../support/servers/local-handler.ts'
import { shareTestServer, startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'
import type { WireOutcome } from '../../support/wire/wire-client.ts'

/** Returns a text for its task, beside an artifact if the message says so. */
async function reportAgent(turn: Turn): Promise<string> {
  await turn.status('working')
  if (turn.text === 'report') await turn.artifact('report').close('numbers')
  return turn.text === 'report' ? 'See the report.' : 'Nothing new.'
}

const report = { name: 'report', parts: [{ text: 'numbers' }] }

const answer = {
  artifactId: expect.stringMatching(/^answer-/),
  name: 'answer',
  parts: [{ text: 'Nothing new.' }],
  metadata: { [answerKey]: { messageId: expect.any(String) } },
}

const remark = { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'See the report.' }] } }

const get = shareTestServer(reportAgent, { grpc: true })

describe.each(dialectBindings)('%s over %s', (dialect, binding) => {
  it.each([
    ['report', ['report'], 'See the report.'],
    ['go', [], 'Nothing new.'],
  ])('the client finds what the agent returned for "%s" in the status', async (text, names, returned) => {
    const service = await openService(get().server.url, dialect, binding)
    const alias = (name: string) => (dialect === 'v0.1' ? { quirks: { alias: `${name}-${text}-${dialect}` } } : {})
    const sent = taskOf(await service.sendMessage({ message: messageOf(text), ...alias('a') }, callOf()))
    expect(sent.artifacts.map(({ name }) => name)).toEqual(names)
    expect(sent.status.message && textOf(sent.status.message)).toBe(returned)
    const events = await collect(service.streamMessage({ message: messageOf(text), ...alias('b') }, callOf()))
    expect(events.flatMap((event) => (event.type === 'artifact' ? [event.artifact.name] : []))).toEqual(names)
    const last = events.at(-1)
    expect(last?.type === 'status' && last.status.message && textOf(last.status.message)).toBe(returned)
  })
})

describe('over JSON-RPC in 1.0', () => {
  it('the returned content is the artifact of a task that has no other, and the status repeats nothing', async () => {
    const { wire } = get()
    const task = await wire.sendTask('go')
    expect(task.artifacts).toMatchObject([answer])
    expect(task.status).toEqual({ state: 'TASK_STATE_COMPLETED', timestamp: expect.any(String) })
    expect(await wire.result('GetTask', { id: task.id })).toMatchObject({ artifacts: [answer] })
  })

  it('content that is returned beside an artifact is a remark in the status', async () => {
    const task = await get().wire.sendTask('report')
    expect(task).toMatchObject({ artifacts: [report], status: remark })
    expect(task.artifacts).toHaveLength(1)
  })

  it('a list shows the answer as an artifact only if it shows artifacts', async () => {
    const { wire } = get()
    const { contextId } = await wire.sendTask('go')
    const full = await wire.result('ListTasks', { contextId, includeArtifacts: true })
    expect(full).toMatchObject({ tasks: [{ artifacts: [answer] }] })
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
    expect(task).toMatchObject({ status: { message: { parts: answer.parts } } })
    expect(task).not.toHaveProperty('artifacts')
  })
})

it('0.1 has the answer in the status and among the artifacts', async () => {
  const { wire } = get()
  const params = { id: 'both', message: { role: 'user', parts: [{ type: 'text', text: 'go' }] } }
  const headers = { 'a2a-version': '0.1' }
  const parts = [{ type: 'text', text: 'Nothing new.' }]
  const both = { status: { state: 'completed', message: { parts } }, artifacts: [{ name: 'answer', parts, index: 0 }] }
  expect(await wire.result('tasks/send', params, headers)).toMatchObject(both)
  expect(await wire.result('tasks/get', { id: 'both' }, headers)).toMatchObject(both)
  const events = await collect(wire.stream('tasks/sendSubscribe', { ...params, id: 'streamed' }, { headers }))
  expect(events.slice(-2)).toMatchObject([
    { result: { artifact: { name: 'answer', parts, lastChunk: true } } },
    { result: { status: { state: 'completed', message: { parts } }, final: true } },
  ])
})

it('turns.answers puts the answer into the status or among the artifacts, whatever else the task has', async () => {
  const inStatus = await startTestServer(reportAgent, { turns: { answers: 'status' } })
  const shown = await inStatus.wire.sendTask('go')
  expect(shown).toMatchObject({ status: { message: { parts: answer.parts } } })
  expect(shown).not.toHaveProperty('artifacts')
  const inArtifact = await startTestServer(reportAgent, { turns: { answers: 'artifact' } })
  const task = await inArtifact.wire.sendTask('report')
  expect(task.artifacts).toMatchObject([report, { ...answer, parts: [{ text: 'See the report.' }] }])
})

it("Microsoft's framework gets the answer to an unstreamed call as an artifact, and nothing else changes", async () => {
  const { wire } = await startTestServer(async (turn: Turn) => {
    await turn.status('working')
    return turn.text === 'fail' ? await turn.fail('No report.') : await turn.status('completed', 'Nothing new.')
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

it('an artifact of an earlier turn makes no remark of what a later one returns', async () => {
  const { wire } = await startTestServer(async (turn: Turn) => {
    if (turn.task) return 'Nothing new.'
    await turn.artifact('report').close('numbers')
    return await turn.requireInput('More?')
  })
  const { id: taskId } = await wire.sendTask('go')
  expect((await wire.sendTask('no', { taskId })).artifacts).toMatchObject([report, answer])
})

describe('turn.answer', () => {
  const ask = async (text: string) => {
    const handler = createLocalHandler(async (turn) => {
      if (turn.text !== 'nothing') for (const chunk of ['un', 'believ', 'able']) await turn.answer.write(chunk)
      await turn.artifact('report').close('numbers')
      if (turn.text === 'fail') throw new Error('broken')
      return turn.text === 'silent' ? undefined : 'Written from memory.'
    })
    return await (await connect(handler)).send(text)
  }

  it('streams the artifact "answer", and what is returned besides is the remark', async () => {
    const { artifacts, text, task } = await ask('go')
    expect(artifacts.map((artifact) => [artifact.name, artifact.text])).toEqual([
      ['answer', 'unbelievable'],
      ['report', 'numbers'],
    ])
    expect(text).toBe('unbelievable')
    expect(task?.status.message && textOf(task.status.message)).toBe('Written from memory.')
  })

  it('without it, the text of the reply is the remark, and without both that of the artifacts', async () => {
    expect((await ask('nothing')).text).toBe('Written from memory.')
    expect((await ask('silent')).text).toBe('unbelievable')
  })

  it('a reply that failed has the failure as its text, not what was written of the answer', async () => {
    expect((await ask('fail')).text).toMatch(/fail/i)
  })
})

async function streamOf(wire: ReturnType<typeof get>['wire'], headers: Record<string, string> = {}) {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] }
  const events = await collect(wire.stream('SendStreamingMessage', { message }, { headers }))
  return events as readonly { generation: number | undefined; result?: WireOutcome }[]
}
