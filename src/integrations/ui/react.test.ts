import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { deferred, until } from '../../../test/support/async.ts'
import { createLocalHandler } from '../../../test/support/servers/local-handler.ts'
import type { AgentFunction } from '../../core/agent/agent-function.ts'
import { connect } from '../../core/client/connect.ts'
import { progressKey } from '../../core/protocol/extensions/progress.ts'
import { type AgentChat, createAgentChat } from './agent-chat.ts'
import { useAgent } from './react.ts'
import { applyEvent, emptyView } from './task-view.ts'

async function start(run: AgentFunction) {
  const client = await connect(createLocalHandler(run))
  const values = new Map<string, string>()
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => values.set(key, value),
  }
  /** A page that shows the conversation. */
  const open = () => {
    const chat = createAgentChat({ agent: client, id: 'test', storage })
    onTestFinished(chat.start())
    return chat
  }
  return { client, values, open }
}

function outline(chat: AgentChat): unknown[] {
  return chat.getState().messages.map(({ role, parts }) => [
    role,
    ...parts.map((part) => {
      if ('text' in part) return part.text
      return part.type === 'tool' ? `${part.name} ${part.state}` : part.type
    }),
  ])
}

const connections: string[] = []

function agent() {
  connections.push('connect')
  return connect('http://127.0.0.1:9/')
}

function Page() {
  const { messages, status, send } = useAgent({ agent, id: 'page' })
  return createElement('p', null, `${status} ${messages.length} ${typeof send}`)
}

it('useAgent renders on a server without sending anything', () => {
  expect(renderToString(createElement(Page))).toBe('<p>ready 0 function</p>')
  expect(connections).toEqual([])
})

describe('the conversation of useAgent', () => {
  it('messages, tasks, artifacts and progress follow the stream', async () => {
    const middle = deferred()
    const { open } = await start(async (turn) => {
      await turn.status('working', 'Looking it up')
      const metadata = { [progressKey]: { type: 'tool', tool: 'weather', toolCallId: 'c', state: 'called' } }
      await turn.status('working', undefined, { metadata })
      await middle.promise
      await turn.artifact('report').write('Sunny')
      await turn.data({ degrees: 20 }, 'numbers')
      return 'Done.'
    })
    const chat = open()
    const sent = chat.actions.send('weather?')
    await until(() => chat.getState().progress === 'Looking it up' || outline(chat).length === 2)
    expect(chat.getState().status).toBe('working')
    middle.resolve()
    await sent
    expect(outline(chat)).toEqual([
      ['user', 'weather?'],
      ['agent', 'weather called', 'Sunny', 'data', 'Done.'],
    ])
    const { tasks, artifacts, status, error } = chat.getState()
    expect([status, error]).toEqual(['ready', undefined])
    expect(tasks).toEqual([{ id: expect.any(String), state: 'completed' }])
    expect(artifacts).toMatchObject([
      { name: 'report', text: 'Sunny', data: [], files: [] },
      { name: 'numbers', text: '', data: [{ degrees: 20 }] },
    ])
  })

  it('questions are answered by values, texts and secrets, which are kept nowhere', async () => {
    const { open, values } = await start(async (turn) => {
      const trip = await turn.ask('Where to?', { schema: z.object({ city: z.string() }) })
      const sure = await turn.ask('Sure?', { schema: z.boolean() })
      const { text } = await turn.ask('Password?', { sensitive: true })
      const { text: why } = await turn.ask('Why?')
      return `${trip.city} ${sure} ${text.length} ${why}`
    })
    const chat = open()
    await chat.actions.send('go')
    expect(chat.getState()).toMatchObject({ status: 'waiting', question: { kind: 'input', text: 'Where to?' } })
    await chat.actions.answer({ city: 'Rome' })
    expect(chat.getState().question).toMatchObject({ kind: 'approval' })
    await chat.actions.answer(true)
    expect(chat.getState().question).toMatchObject({ isSensitive: true })
    await chat.actions.answer('hunter2')
    await chat.actions.send('because')
    expect(outline(chat).at(-1)).toEqual(['agent', 'Rome true 7 because'])
    expect(outline(chat).filter((message) => Array.isArray(message) && message[0] === 'user')).toEqual([
      ['user', 'go'],
      ['user', '{"city":"Rome"}'],
      ['user', 'Yes'],
      ['user', '••••••'],
      ['user', 'because'],
    ])
    expect(JSON.stringify([chat.getState(), ...values.values()])).not.toContain('hunter2')
    expect(chat.getState().tasks).toHaveLength(1)
  })

  it('a reload in the middle of a stream loses and repeats nothing, before and after an answer', async () => {
    const gates = [deferred(), deferred()]
    const { open } = await start(async (turn) => {
      const log = turn.artifact('log')
      await log.write('one ')
      await gates[0]?.promise
      await log.write('two ')
      await turn.ask('More?')
      await log.write('three ')
      await gates[1]?.promise
      await log.write('four')
      return undefined
    })
    const first = open()
    void first.actions.send('count')
    await until(() => JSON.stringify(outline(first)).includes('one '))
    const second = open()
    await until(() => JSON.stringify(outline(second)).includes('one '))
    gates[0]?.resolve()
    await until(() => second.getState().status === 'waiting')
    expect(outline(second)).toEqual([
      ['user', 'count'],
      ['agent', 'one two ', 'More?', 'question'],
    ])
    void second.actions.send('yes')
    await until(() => JSON.stringify(outline(second)).includes('three '))
    const third = open()
    await until(() => JSON.stringify(outline(third)).includes('three '))
    gates[1]?.resolve()
    await until(() => third.getState().status === 'ready')
    expect(outline(third)).toEqual([
      ['user', 'count'],
      ['agent', 'one two ', 'More?', 'question'],
      ['user', 'yes'],
      ['agent', 'three four'],
    ])
    await until(() => second.getState().status === 'ready')
    expect(outline(open())).toEqual(outline(third))
  })

  it('cancel ends a working task and one that waits', async () => {
    const { open, client } = await start(async (turn) => {
      if (turn.text === 'ask') return (await turn.ask('Sure?')).text
      await turn.artifact('log').write('one ')
      return await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
    })
    const chat = open()
    const sent = chat.actions.send('work')
    await until(() => outline(chat).length === 2)
    await chat.actions.cancel()
    await sent
    await chat.actions.send('ask')
    await chat.actions.cancel()
    const { tasks, question, status } = chat.getState()
    expect([question, status]).toEqual([undefined, 'ready'])
    expect(tasks.map(({ state }) => state)).toEqual(['canceled', 'canceled'])
    for (const { id } of tasks) expect((await client.task(id).get()).status.state).toBe('canceled')
    expect(open().getState().status).toBe('ready')
  })

  it('failures are texts, and a conversation can start anew', async () => {
    const { open, values } = await start(async (turn) => turn.fail('The printer is on fire.'))
    const chat = open()
    await chat.actions.answer('nothing')
    expect(chat.getState().error).toBe('There is no question.')
    await chat.actions.send('print')
    expect(chat.getState().messages.at(-1)).toMatchObject({ state: 'failed', problem: 'The printer is on fire.' })
    chat.actions.clear()
    expect(chat.getState().messages).toEqual([])
    expect([...values.values()]).toEqual(['[]', '[]'])
    const lost = createAgentChat({ agent: () => connect('http://127.0.0.1:9/', { retry: { tries: 1 } }) })
    await lost.actions.send('hello')
    expect(lost.getState()).toMatchObject({ status: 'ready', error: expect.stringContaining('127.0.0.1:9') })
    expect(() => createAgentChat({ agent: undefined as never })).toThrow('expected an agent: a client')
  })

  it('an answer after the task is gone starts a new task next time', async () => {
    const { open, client } = await start(async (turn) => (turn.text === 'go' ? (await turn.ask('Sure?')).text : 'new'))
    const chat = open()
    await chat.actions.send('go')
    await client.task(chat.getState().tasks[0]?.id ?? '').cancel()
    await chat.actions.answer('yes')
    expect(chat.getState()).toMatchObject({ status: 'ready', error: expect.stringContaining('canceled') })
    await chat.actions.send('hello')
    expect(outline(chat).at(-1)).toEqual(['agent', 'new'])
  })
})

describe('the view of a task', () => {
  const ref = { taskId: 't', contextId: 'c', generation: 0 }
  const text = (value: string) => ({ parts: [{ text: value }] })

  it('an answer that an agent repeats in its last status is shown once', () => {
    const artifact = { artifactId: 'a', ...text('The answer.') }
    const message = { messageId: 'm', role: 'agent' as const, ...text('The answer.\n') }
    const views = [{ type: 'artifact' as const, ...ref, artifact }].reduce(applyEvent, emptyView)
    const view = applyEvent(views, { type: 'status', ...ref, status: { state: 'completed', message } })
    expect(view.parts).toMatchObject([{ type: 'text', text: 'The answer.', isComplete: true }])
  })

  it('an answer that an agent gives in a working status is shown', () => {
    const message = { messageId: 'm', role: 'agent' as const, ...text('Here it is.') }
    const working = applyEvent(emptyView, { type: 'status', ...ref, status: { state: 'working', message } })
    const view = applyEvent(working, { type: 'status', ...ref, status: { state: 'completed' } })
    expect(view.parts).toMatchObject([{ type: 'text', text: 'Here it is.' }])
  })

  it('a link with a foreign scheme is no file', () => {
    const artifact = { artifactId: 'a', parts: [{ url: 'javascript:alert(1)' }, { url: 'https://a.example/b.png' }] }
    const { parts } = applyEvent(emptyView, { type: 'artifact', ...ref, artifact })
    expect(parts.map(({ type }) => type)).toEqual(['data', 'file'])
  })
})
