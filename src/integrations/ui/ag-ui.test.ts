import type { AgentSubscriber, Message } from '@ag-ui/client'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { deferred, until } from '../../../test/support/async.ts'
import { createLocalHandler } from '../../../test/support/servers/local-handler.ts'
import type { AgentFunction } from '../../core/agent/agent-function.ts'
import { connect } from '../../core/client/connect.ts'
import { progressKey } from '../../core/protocol/extensions/progress.ts'
import { A2AAgent } from './ag-ui.ts'

async function start(run: AgentFunction) {
  const client = await connect(createLocalHandler(run))
  const values = new Map<string, string>()
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => values.set(key, value),
  }
  /** A page with the thread: a reloaded one has the stored position and the messages that it kept. */
  const open = (initialMessages: Message[] = []) =>
    new A2AAgent({ agent: client, storage, threadId: 'thread', initialMessages: structuredClone(initialMessages) })
  return { client, values, open }
}

let number = 0
function say(agent: A2AAgent, content: string): void {
  agent.addMessage({ id: `user-${number++}`, role: 'user', content })
}

function outline(messages: readonly Message[]): unknown[] {
  return messages.map((message) => {
    if (message.role === 'assistant' && message.toolCalls) {
      return ['call', ...message.toolCalls.map((call) => call.function.name + call.function.arguments)]
    }
    return [message.role, message.content]
  })
}

function recorder() {
  const errors: string[] = []
  const customs: unknown[] = []
  const outcomes: string[] = []
  const subscriber: AgentSubscriber = {
    onRunErrorEvent: ({ event }) => void errors.push(event.message),
    onCustomEvent: ({ event }) => void customs.push([event.name, event.value]),
    onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome?.type ?? 'none'),
  }
  return { errors, customs, outcomes, subscriber }
}

describe('A2AAgent with the client of AG-UI', () => {
  it('text, tools, reasoning, data and files are messages of their kinds', async () => {
    const { open } = await start(async (turn) => {
      const report = (details: object) =>
        turn.status('working', undefined, { metadata: { [progressKey]: details as never } })
      await turn.status('working', 'Looking it up')
      await report({ type: 'reasoning', text: 'Hm, ' })
      await report({ type: 'reasoning', text: 'weather.' })
      await report({ type: 'tool', tool: 'weather', toolCallId: 'c1', state: 'called', input: '{"city":"Rome"}' })
      await report({ type: 'tool', tool: 'weather', toolCallId: 'c1', state: 'done', result: 'Sunny' })
      await turn.data({ total: 2 }, 'totals')
      await turn.file({ name: 'a.txt', mediaType: 'text/plain', content: new TextEncoder().encode('abc') })
      return 'Done.'
    })
    const agent = open()
    const { subscriber, customs, errors, outcomes } = recorder()
    say(agent, 'go')
    await agent.runAgent({}, subscriber)
    expect(errors).toEqual([])
    expect(outcomes).toEqual(['success'])
    expect(outline(agent.messages)).toEqual([
      ['user', 'go'],
      ['reasoning', 'Hm, weather.'],
      ['call', 'weather{"city":"Rome"}'],
      ['tool', 'Sunny'],
      ['activity', { artifactId: expect.any(String), name: 'totals', data: { total: 2 } }],
      ['activity', { url: 'data:text/plain;base64,YWJj', mediaType: 'text/plain', name: 'a.txt' }],
      ['assistant', 'Done.'],
    ])
    expect(customs).toContainEqual(['a2a-status', { state: 'working', text: 'Looking it up' }])
  })

  it('a question is an interrupt with its schema, and resuming answers it', async () => {
    const { open, values } = await start(async (turn) => {
      await turn.artifact('log').write('Before.')
      const { city } = await turn.ask('Where to?', { schema: z.object({ city: z.string() }) })
      const { text } = await turn.ask('Password?', { sensitive: true })
      return `To ${city} with ${text.length} letters.`
    })
    const agent = open()
    const { subscriber, outcomes } = recorder()
    say(agent, 'go')
    await agent.runAgent({}, subscriber)
    const [interrupt] = agent.pendingInterrupts
    expect(interrupt).toMatchObject({
      reason: 'input',
      message: 'Where to?',
      responseSchema: { type: 'object', properties: { city: { type: 'string' } } },
    })
    const answer = (id: string | undefined, payload: unknown) => [
      { interruptId: `${id}`, status: 'resolved' as const, payload },
    ]
    await agent.runAgent({ resume: answer(interrupt?.id, { city: 'Rome' }) }, subscriber)
    expect(agent.pendingInterrupts[0]?.metadata).toMatchObject({ isSensitive: true })
    await agent.runAgent({ resume: answer(agent.pendingInterrupts[0]?.id, 'hunter2') }, subscriber)
    expect(outcomes).toEqual(['interrupt', 'interrupt', 'success'])
    expect(outline(agent.messages)).toEqual([
      ['user', 'go'],
      ['assistant', 'Before.'],
      ['assistant', 'Where to?'],
      ['assistant', 'Password?'],
      ['assistant', 'To Rome with 7 letters.'],
    ])
    expect(JSON.stringify([agent.messages, ...values.values()])).not.toContain('hunter2')
  })

  it('a cancelled interrupt ends the task', async () => {
    const { open, client } = await start(async (turn) => (await turn.ask('Pay?')).text)
    const agent = open()
    const { subscriber, outcomes, customs } = recorder()
    say(agent, 'go')
    await agent.runAgent({}, subscriber)
    const id = `${agent.pendingInterrupts[0]?.id}`
    await agent.runAgent({ resume: [{ interruptId: id, status: 'cancelled' }] }, subscriber)
    expect(outcomes).toEqual(['interrupt', 'cancelled'])
    const [[, { taskId }]] = customs as [[string, { taskId: string }]]
    expect((await client.task(taskId).get()).status.state).toBe('canceled')
  })

  it.each(['with the messages of the page', 'without messages'])(
    'a reload in the middle of a run loses and repeats nothing, %s',
    async (kept) => {
      const reloaded = deferred()
      const { open } = await start(async (turn) => {
        const metadata = { [progressKey]: { type: 'tool', tool: 'weather', toolCallId: 'c', state: 'called' } }
        await turn.status('working', undefined, { metadata })
        const answer = turn.artifact('answer')
        await answer.write('one ')
        await reloaded.promise
        await answer.write('two ')
        await answer.write('three')
        return undefined
      })
      const first = open()
      say(first, 'count')
      const abandoned = first.runAgent()
      await until(() => first.messages.some(({ content }) => content === 'one '))
      const hasMessages = kept.startsWith('with ')
      const second = open(hasMessages ? first.messages : [])
      const resumed = second.connectAgent()
      await until(() => second.messages.some(({ content }) => content === 'one '))
      reloaded.resolve()
      await resumed
      const shown = [...(hasMessages ? [['user', 'count']] : []), ['call', 'weather{}'], ['assistant', 'one two three']]
      expect(outline(second.messages)).toEqual(shown)
      await abandoned
      const { subscriber, outcomes } = recorder()
      await second.connectAgent({}, subscriber)
      expect(outcomes).toEqual(['success'])
      expect(outline(second.messages)).toEqual(shown)
    },
  )

  it('an interrupt survives a reload', async () => {
    const { open } = await start(async (turn) => `To ${(await turn.ask('Where to?')).text}`)
    const first = open()
    say(first, 'go')
    await first.runAgent()
    const second = open(first.messages)
    await second.connectAgent()
    const id = `${second.pendingInterrupts[0]?.id}`
    await second.runAgent({ resume: [{ interruptId: id, status: 'resolved', payload: 'Rome' }] })
    expect(outline(second.messages)).toEqual([
      ['user', 'go'],
      ['assistant', 'Where to?'],
      ['assistant', 'To Rome'],
    ])
  })

  it('abortRun cancels the task', async () => {
    const { open } = await start(async (turn) => {
      await turn.artifact('answer').write('one ')
      await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
    })
    const agent = open()
    const { subscriber, outcomes } = recorder()
    say(agent, 'go')
    const ran = agent.runAgent({}, subscriber)
    await until(() => agent.messages.length === 2)
    agent.abortRun()
    await ran
    expect(outcomes).toEqual(['cancelled'])
  })

  it('a failed task and an empty thread are errors in words', async () => {
    const { open } = await start(async (turn) => turn.fail('The printer is on fire.'))
    const agent = open()
    const { subscriber, errors } = recorder()
    say(agent, 'print')
    await agent.runAgent({}, subscriber)
    await open().runAgent({}, subscriber)
    expect(errors).toEqual([
      'The printer is on fire.',
      'There is nothing to send: the last message is not one of the user.',
    ])
    expect(() => new A2AAgent({} as never)).toThrow('agent: expected a client, an address or a function')
  })

  it('a clone continues its thread', async () => {
    const { open } = await start((turn) => `You said ${turn.text}`)
    const agent = open()
    const copy = agent.clone()
    say(copy, 'hi')
    await copy.runAgent()
    expect(outline(copy.messages)).toEqual([
      ['user', 'hi'],
      ['assistant', 'You said hi'],
    ])
    expect(agent.messages).toEqual([])
  })
})
