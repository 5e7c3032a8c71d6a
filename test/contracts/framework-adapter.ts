import { expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import type { AdaptedFunction } from '../../src/core/agent/agent-function.ts'
import { progressKey } from '../../src/core/protocol/extensions/progress.ts'
import { typedSkills } from '../../src/core/protocol/extensions/typed-skills.ts'
import { usageKey } from '../../src/core/protocol/extensions/usage.ts'
import { type Task, textOf } from '../../src/core/protocol/model.ts'
import { createRuntime } from '../../src/core/runtime/runtime.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { callOf, messageOf, taskOf } from '../support/agents/test-runtime.ts'
import { collect, until } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'

/** One answer of the scripted model. */
export interface ModelAnswer {
  readonly reasoning?: string
  /** Streamed piece by piece. */
  readonly text?: readonly string[]
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: object }[]
  /** The request fails. */
  readonly error?: string
  /** After its text, the model says nothing more until the request is aborted. */
  readonly hangs?: boolean
}

/** Every scripted model reports this for each request. */
export const scriptedUsage = { inputTokens: 10, outputTokens: 5 }

/** What the model was asked and which tools it was offered, as JSON text, and whether the request was aborted. */
export interface ModelRequests {
  readonly prompts: string[]
  readonly tools?: string[]
  aborted: number
}

export interface ScriptedAgent {
  readonly work: AdaptedFunction
  readonly requests: ModelRequests
  /** The inputs with which the tool `pay` did its work. */
  readonly payments: number[]
}

export interface FrameworkSubject {
  /**
   * Creates an agent of the framework with the tools `weather` ({ city } → "Sunny in <city>") and `pay` ({ amount } →
   * "Paid <amount>"), which needs an answer before it works. The model gives the answers of the script in order.
   */
  create(
    script: readonly ModelAnswer[],
    options?: { readonly reasoning?: boolean; readonly structured?: boolean },
  ): ScriptedAgent
  /** What the caller answers to the question of `pay`. */
  readonly yes: object | string
  readonly no: object | string
  /** What the framework cannot do. */
  readonly without?: readonly ('reasoning' | 'structured' | 'two-questions' | 'files' | 'schemas')[]
}

/** The output that a model is to give for the schema { total: number }. */
const structuredAnswer: ModelAnswer = { text: ['{"total":', '160}'] }

/** Runs an adapted agent in a process of its own: another one can continue with the same log. */
export function openAdapted(work: AdaptedFunction, log = createMemoryLog()) {
  const adapted = agent({ name: 'Adapted' }, work)
  const runtime = createRuntime({ agent: adapted, log, logger: silentLogger, leaseTtl: 300, cancelGrace: 2_000 })
  onTestFinished(() => runtime.drain(0))
  const { service } = runtime
  const say = async (text: string, fields: Parameters<typeof messageOf>[1] = {}, id = 'ann') =>
    taskOf(await service.sendMessage({ message: messageOf(text, fields) }, callOf({ principal: { id } })))
  const stream = async (text: string) =>
    await collect(service.streamMessage({ message: messageOf(text) }, callOf({ principal: { id: 'ann' } })))
  const answer = (taskId: string, value: object | string) =>
    say('', { taskId, parts: typeof value === 'string' ? [{ text: value }] : [{ data: value as never }] })
  return { runtime, service, say, stream, answer, log }
}

/** Runs the contract of adapters for agent frameworks. */
export function testFrameworkAdapter({ create, yes, no, without = [] }: FrameworkSubject): void {
  const withFeature = (feature: (typeof without)[number]) => (without.includes(feature) ? it.skipIf(true) : it)

  it('text streams piece by piece as one artifact and is shown once', async () => {
    const { work } = create([{ text: ['Hel', 'lo ', 'you'] }])
    const { stream, service } = openAdapted(work)
    const events = await stream('hi')
    const artifacts = events.filter((event) => event.type === 'artifact')
    expect(artifacts.length).toBeGreaterThanOrEqual(3)
    expect(artifacts.map(({ append }) => append)).toEqual([false, ...artifacts.slice(1).map(() => true)])
    expect(events.at(-1)).toMatchObject({ type: 'status', status: { state: 'completed' } })
    const [task] = (await service.listTasks({ includeArtifacts: true }, callOf({ principal: { id: 'ann' } }))).tasks
    expect(answerOf(task)).toBe('Hello you')
    expect(task?.status.message).toBeUndefined()
    expect(task?.artifacts[0]?.name).toBe('answer')
  })

  it('tool calls and results are in the metadata of statuses, and not in the answer', async () => {
    const { work, requests } = create([
      { calls: [{ id: 'call-1', name: 'weather', input: { city: 'Oslo' } }] },
      { text: ['It is ', 'sunny.'] },
    ])
    const { stream, service } = openAdapted(work)
    const events = await stream('The weather?')
    const progress = events.flatMap((event) =>
      event.type === 'status' && event.metadata?.[progressKey] ? [event.metadata[progressKey]] : [],
    )
    expect(progress).toContainEqual(expect.objectContaining({ type: 'tool', tool: 'weather', state: 'called' }))
    const done = progress.find((each) => (each as { state?: string }).state === 'done')
    expect(done).toMatchObject({ type: 'tool', tool: 'weather' })
    expect(JSON.stringify(done)).toContain('Sunny in Oslo')
    expect(requests.prompts[1]).toContain('Sunny in Oslo')
    const [task] = (await service.listTasks({ includeArtifacts: true }, callOf({ principal: { id: 'ann' } }))).tasks
    expect(answerOf(task)).toBe('It is sunny.')
  })

  withFeature('reasoning')('reasoning is sent only if the author wants it', async () => {
    const script: readonly ModelAnswer[] = [{ reasoning: 'Let me think', text: ['Done'] }]
    const quiet = JSON.stringify(await openAdapted(create(script).work).stream('go'))
    expect(quiet).toContain('Done')
    expect(quiet).not.toContain('Let me think')
    const events = await openAdapted(create(script, { reasoning: true }).work).stream('go')
    expect(JSON.stringify(events)).toContain('Let me think')
    expect(JSON.stringify(events.filter(({ type }) => type === 'artifact'))).not.toContain('Let me think')
  })

  it('data and text of the message reach the model', async () => {
    const { work, requests } = create([{ text: ['ok'] }])
    await openAdapted(work).say('', { parts: [{ text: 'Look:' }, { data: { total: 160 } }] })
    expect(requests.prompts[0]).toContain('Look:')
    expect(requests.prompts[0]?.replaceAll('\\', '')).toContain('{"total":160}')
  })

  withFeature('files')('a file of the message reaches the model', async () => {
    const { work, requests } = create([{ text: ['ok'] }])
    const raw = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    await openAdapted(work).say('', { parts: [{ text: 'See' }, { raw, mediaType: 'image/png', filename: 'dot.png' }] })
    expect(requests.prompts[0]).toContain('iVBORw0KGgo')
  })

  withFeature('structured')('structured output is a data part, and no text', async () => {
    const { work } = create([structuredAnswer], { structured: true })
    const { artifacts } = await openAdapted(work).say('The total?')
    expect(artifacts.flatMap(({ parts }) => parts)).toEqual([expect.objectContaining({ data: { total: 160 } })])
  })

  it('the conversation follows the context, and callers never share one', async () => {
    const { work, requests } = create([1, 2, 3, 4].map((number) => ({ text: [`answer ${number}`] })))
    const { say } = openAdapted(work)
    await say('first words', { contextId: 'c' })
    await say('second words', { contextId: 'c' })
    expect(requests.prompts[1]).toMatch(/first words.*answer 1.*second words/s)
    await say('other context', { contextId: 'd' })
    await say('other caller', { contextId: 'c' }, 'bob')
    for (const prompt of requests.prompts.slice(2)) expect(prompt).not.toMatch(/first words|answer 1/)
  })

  it('a question survives its process: it is answered in another one, and the tool works once', async () => {
    const calls = [{ id: 'call-1', name: 'pay', input: { amount: 5 } }]
    const first = create([{ text: ['Let me pay.'], calls }])
    const { say, runtime, log } = openAdapted(first.work)
    const asked = await say('Pay 5')
    expect(asked.status.state).toBe('input-required')
    expect(textOf(asked.status.message ?? expect.fail('no question'))).toMatch(/pay.*5/is)
    expect(first.payments).toEqual([])
    await runtime.drain(0)
    const second = create([{ text: ['All ', 'paid.'] }])
    const done = await openAdapted(second.work, log).answer(asked.id, yes)
    expect(done.status).toMatchObject({ state: 'completed' })
    expect(second.payments).toEqual([5])
    expect(second.requests.prompts).toHaveLength(1)
    expect(second.requests.prompts[0]).toContain('Paid 5')
    expect(second.requests.prompts[0]?.match(/Pay 5/g)).toHaveLength(1)
    expect(answerOf(done)).toBe('Let me pay.\nAll paid.')
    expect(done.metadata).toMatchObject({ [usageKey]: { inputTokens: 20, outputTokens: 10 } })
  })

  it('a declined tool does no work', async () => {
    const calls = [{ id: 'call-1', name: 'pay', input: { amount: 5 } }]
    const { work, payments } = create([{ calls }, { text: ['Not paid.'] }])
    const { say, answer } = openAdapted(work)
    const { id } = await say('Pay 5')
    const done = await answer(id, no)
    expect(done.status.state).toBe('completed')
    expect(answerOf(done)).toBe('Not paid.')
    expect(payments).toEqual([])
  })

  withFeature('two-questions')('all open questions are asked before the run continues once', async () => {
    const calls = [5, 7].map((amount) => ({ id: `call-${amount}`, name: 'pay', input: { amount } }))
    const { work, payments, requests } = create([{ calls }, { text: ['Both paid.'] }])
    const { say, answer } = openAdapted(work)
    const { id } = await say('Pay 5 and 7')
    const second = await answer(id, yes)
    expect(second.status.state).toBe('input-required')
    expect(requests.prompts).toHaveLength(1)
    const done = await answer(id, yes)
    expect(done.status.state).toBe('completed')
    expect(answerOf(done)).toBe('Both paid.')
    expect([...new Set(payments)].sort()).toEqual([5, 7])
    expect(requests.prompts).toHaveLength(2)
  })

  it('CancelTask aborts the request of the model before it answers', async () => {
    const { work, requests } = create([{ text: ['One '], hangs: true }])
    const { service, log } = openAdapted(work)
    const call = callOf({ principal: { id: 'ann' } })
    const message = messageOf('go')
    const { id } = taskOf(await service.sendMessage({ message, configuration: { returnImmediately: true } }, call))
    await until(() => requests.prompts.length === 1)
    const canceled = await service.cancelTask({ taskId: id }, call)
    expect(requests.aborted).toBe(1)
    expect(canceled.status.state).toBe('canceled')
    expect((await log.head(id))?.phase).toBe('canceled')
  })

  it('an error of the model is a failed task with a clear text', async () => {
    const { work } = create([{ error: 'secret sk-1234' }, { error: 'secret sk-1234' }, { error: 'secret sk-1234' }])
    const { status } = await openAdapted(work).say('go')
    expect(status.state).toBe('failed')
    const text = textOf(status.message ?? expect.fail('no text'))
    expect(text).toBe('The agent could not finish, because its model or a part of it failed: try again later.')
  })

  it('a run that its process could not finish is repeated from its start, and its output replaced', async () => {
    const first = create([{ text: ['Half an '], hangs: true }])
    const { service, runtime, log } = openAdapted(first.work)
    const call = callOf({ principal: { id: 'ann' } })
    const message = messageOf('only once')
    const { id } = taskOf(await service.sendMessage({ message, configuration: { returnImmediately: true } }, call))
    await until(() => first.requests.prompts.length === 1)
    await runtime.drain(0)
    const second = create([{ text: ['A whole ', 'answer'] }])
    const other = openAdapted(second.work, log)
    await until(async () => (await log.head(id))?.phase === 'completed', 15_000)
    expect(answerOf(await other.service.getTask({ taskId: id }, call))).toBe('A whole answer')
    expect(second.requests.prompts).toHaveLength(1)
    expect(second.requests.prompts[0]?.match(/only once/g)).toHaveLength(1)
  })

  it('the last status has the usage of all model calls', async () => {
    const { work } = create([
      { calls: [{ id: 'call-1', name: 'weather', input: { city: 'Oslo' } }] },
      { text: ['Sunny.'] },
    ])
    const events = await openAdapted(work).stream('The weather?')
    expect(events.at(-1)).toMatchObject({
      status: { state: 'completed' },
      metadata: { [usageKey]: { inputTokens: 20, outputTokens: 10 } },
    })
  })

  it('the tools of the agent are its skills, and the profile can say otherwise', () => {
    const { work } = create([])
    const { profile } = agent({ name: 'Adapted' }, work)
    expect(profile.skills?.map(({ id }) => id).sort()).toEqual(['pay', 'weather'])
    expect(profile.recovery).toBe('resume')
    const uris = profile.extensions?.map(({ uri }) => uri)
    expect(uris).toContain(usageKey)
    if (!without.includes('schemas')) {
      expect(uris).toContain(typedSkills)
      expect(JSON.stringify(profile.extensions)).toContain('"city"')
    }
    expect(agent({ name: 'Adapted', skills: [], recovery: 'fail' }, work).profile).toMatchObject({
      skills: [],
      recovery: 'fail',
    })
  })
}

export function answerOf(task: Task | undefined): string {
  return (task?.artifacts ?? [])
    .map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join(''))
    .join('\n')
}
