import { Chat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { deferred, until } from '../../../test/support/async.ts'
import { createLocalHandler } from '../../../test/support/servers/local-handler.ts'
import type { AgentFunction } from '../../core/agent/agent-function.ts'
import { connect } from '../../core/client/connect.ts'
import { progressKey } from '../../core/protocol/extensions/progress.ts'
import { A2AChatTransport } from './ai-sdk-chat.ts'
import type { KeyValueStorage } from './conversations.ts'

function memory(): KeyValueStorage & { readonly values: Map<string, string> } {
  const values = new Map<string, string>()
  return { values, getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value) }
}

async function start(run: AgentFunction, storage = memory()) {
  const client = await connect(createLocalHandler(run))
  /** A page with the chat: a reloaded one has the stored position and the messages that it kept. */
  const open = (messages: UIMessage[] = []) =>
    new Chat({
      id: 'chat',
      messages: structuredClone(messages),
      transport: new A2AChatTransport({ agent: client, storage }),
      sendAutomaticallyWhen: ({ messages: all }) => {
        const tools = lastStepOf(all.at(-1)).filter((part) => 'toolCallId' in part && !part.providerExecuted)
        const isAnswered = tools.every((part) => 'state' in part && part.state === 'output-available')
        return (
          (tools.length > 0 && isAnswered) || lastAssistantMessageIsCompleteWithApprovalResponses({ messages: all })
        )
      },
    })
  return { client, storage, open }
}

function lastStepOf(message: UIMessage | undefined): UIMessage['parts'] {
  const parts = message?.role === 'assistant' ? message.parts : []
  return parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1)
}

function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('|')
}

/** The parts without the members that do not matter here. */
function outline(message: UIMessage | undefined): unknown[] {
  return (message?.parts ?? []).flatMap((part) => {
    if (part.type === 'step-start') return []
    if (part.type === 'text' || part.type === 'reasoning') return [[part.type, part.text, part.state]]
    if (part.type === 'dynamic-tool') return [[part.toolName, part.state, part.input, part.output ?? part.errorText]]
    if (part.type === 'file') return [['file', part.url, part.mediaType]]
    return [[part.type, 'data' in part ? part.data : undefined]]
  })
}

describe('A2AChatTransport with Chat of the AI SDK', () => {
  it('a text streams, and a message without a task is an answer as well', async () => {
    const middle = deferred()
    const { open } = await start(async (turn) => {
      if (turn.text === 'hello') return 'hi'
      const answer = turn.artifact('answer')
      await answer.write('one ')
      await middle.promise
      await answer.write('two')
      return undefined
    })
    const chat = open()
    await chat.sendMessage({ text: 'hello' })
    expect(outline(chat.lastMessage)).toEqual([['text', 'hi', 'done']])
    const sent = chat.sendMessage({ text: 'count' })
    await until(() => textOf(chat.lastMessage) === 'one ')
    expect(chat.status).toBe('streaming')
    middle.resolve()
    await sent
    expect(outline(chat.lastMessage)).toEqual([['text', 'one two', 'done']])
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(chat.status).toBe('ready')
  })

  it('tools, reasoning, files, data and progress are parts of their kinds', async () => {
    const { open } = await start(async (turn) => {
      const report = (details: object) =>
        turn.status('working', undefined, { metadata: { [progressKey]: details as never } })
      await turn.status('working', 'Looking it up')
      await report({ type: 'reasoning', text: 'Hm, ' })
      await report({ type: 'reasoning', text: 'weather.' })
      await report({ type: 'tool', tool: 'weather', toolCallId: 'c1', state: 'called', input: '{"city":"Rome"}' })
      await report({ type: 'tool', tool: 'weather', toolCallId: 'c1', state: 'done', result: 'Sunny' })
      await report({ type: 'tool', tool: 'pay', toolCallId: 'c2', state: 'called', input: '{}' })
      await report({ type: 'tool', tool: 'pay', toolCallId: 'c2', state: 'failed', result: 'No money' })
      await turn.data({ total: 2 }, 'totals')
      await turn.file({ name: 'a.txt', mediaType: 'text/plain', content: new TextEncoder().encode('abc') })
      return 'Done.'
    })
    const chat = open()
    await chat.sendMessage({ text: 'go' })
    expect(outline(chat.lastMessage)).toEqual([
      ['reasoning', 'Hm, weather.', 'done'],
      ['weather', 'output-available', { city: 'Rome' }, 'Sunny'],
      ['pay', 'output-error', {}, 'No money'],
      ['data-artifact', { artifactId: expect.any(String), name: 'totals', data: { total: 2 } }],
      ['file', 'data:text/plain;base64,YWJj', 'text/plain'],
      ['text', 'Done.', 'done'],
    ])
    expect(chat.lastMessage?.metadata).toMatchObject({ taskId: expect.any(String), contextId: expect.any(String) })
  })

  it('files and data of the page reach the agent', async () => {
    const { open } = await start((turn) => JSON.stringify(turn.message.parts))
    const chat = open()
    const url = 'data:text/plain;base64,YWJj'
    await chat.sendMessage({
      parts: [
        { type: 'file', url, mediaType: 'text/plain', filename: 'a.txt' },
        { type: 'text', text: 'Read this' },
      ],
    })
    expect(JSON.parse(textOf(chat.lastMessage))).toEqual([
      { raw: 'YWJj', mediaType: 'text/plain', filename: 'a.txt' },
      { text: 'Read this' },
    ])
  })

  it('a question with a schema is answered in its tool part, and its message continues', async () => {
    const { open } = await start(async (turn) => {
      await turn.artifact('log').write('Before. ')
      const { city } = await turn.ask('Where to?', { schema: z.object({ city: z.string() }) })
      return `To ${city}.`
    })
    const chat = open()
    await chat.sendMessage({ text: 'go' })
    const tool = chat.lastMessage?.parts.find((part) => part.type === 'dynamic-tool')
    expect(tool).toMatchObject({
      toolName: 'ask',
      state: 'input-available',
      input: { question: 'Where to?', schema: { type: 'object', properties: { city: { type: 'string' } } } },
    })
    await chat.addToolOutput({ tool: 'ask', toolCallId: `${tool?.toolCallId}`, output: { city: 'Rome' } as never })
    await until(() => textOf(chat.lastMessage).includes('To Rome') && chat.status === 'ready')
    expect(chat.messages).toHaveLength(2)
    expect(outline(chat.lastMessage)).toEqual([
      ['text', 'Before. ', 'done'],
      ['text', 'Where to?', 'done'],
      ['ask', 'output-available', expect.anything(), { city: 'Rome' }],
      ['text', 'To Rome.', 'done'],
    ])
  })

  it.each([true, false])('an approval is answered by its response: %s', async (approved) => {
    const schema = z.object({ approved: z.boolean(), reason: z.string().optional() })
    const { open } = await start(async (turn) => JSON.stringify(await turn.ask('Pay?', { schema })))
    const chat = open()
    await chat.sendMessage({ text: 'go' })
    const tool = chat.lastMessage?.parts.find((part) => part.type === 'dynamic-tool')
    expect(tool).toMatchObject({ toolName: 'approve', state: 'approval-requested' })
    await chat.addToolApprovalResponse({ id: `${tool?.toolCallId}`, approved, reason: 'why not' })
    await until(() => chat.status === 'ready' && textOf(chat.lastMessage).includes('reason'))
    expect(textOf(chat.lastMessage)).toContain(JSON.stringify({ approved, reason: 'why not' }))
    const [, part] = outline(chat.lastMessage)
    expect(part).toMatchObject({ 1: approved ? 'output-available' : 'output-denied' })
  })

  it('a typed text answers the open question in a message of its own', async () => {
    const { open } = await start(async (turn) => {
      await turn.artifact('log').write('Before. ')
      return `Blue? ${(await turn.ask('Which colour?')).text}!`
    })
    const chat = open()
    await chat.sendMessage({ text: 'paint' })
    await chat.sendMessage({ text: 'green' })
    expect(chat.messages.map(textOf)).toEqual(['paint', 'Before. |Which colour?', 'green', 'Blue? green!'])
    await chat.sendMessage({ text: 'again' })
    expect(textOf(chat.lastMessage)).toBe('Before. |Which colour?')
  })

  it('a sensitive answer stays in no message and in no storage', async () => {
    const { open, storage } = await start(async (turn) => {
      const { text } = await turn.ask('Password?', { sensitive: true })
      return `${text.length} characters`
    })
    const chat = open()
    await chat.sendMessage({ text: 'go' })
    const tool = chat.lastMessage?.parts.find((part) => part.type === 'dynamic-tool')
    expect(tool?.input).toMatchObject({ isSensitive: true })
    await chat.addToolOutput({ tool: 'ask', toolCallId: `${tool?.toolCallId}`, output: 'hunter2' as never })
    await until(() => textOf(chat.lastMessage).includes('7 characters') && chat.status === 'ready')
    expect(JSON.stringify(chat.messages)).not.toContain('hunter2')
    expect([...storage.values.values()].join()).not.toContain('hunter2')
  })

  it.each(['with the messages of the page', 'without messages'])(
    'a reload in the middle of a stream loses and repeats nothing, %s',
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
      const abandoned = first.sendMessage({ text: 'count' })
      await until(() => textOf(first.lastMessage) === 'one ')
      const second = open(kept.startsWith('with ') ? first.messages : [])
      const resumed = second.resumeStream()
      await until(() => textOf(second.lastMessage) === 'one ')
      reloaded.resolve()
      await resumed
      expect(second.messages.filter(({ role }) => role === 'assistant')).toHaveLength(1)
      const [tool, text] = outline(second.lastMessage)
      expect([tool, text]).toEqual([
        ['weather', 'output-error', {}, 'The task ended before the tool did.'],
        ['text', 'one two three', 'done'],
      ])
      await abandoned
      expect(textOf(first.lastMessage)).toBe('one two three')
      await second.resumeStream()
      expect(second.messages.filter(({ role }) => role === 'assistant')).toHaveLength(1)
    },
  )

  it('a page that is reloaded at a question still answers it, and the replay does not answer it again', async () => {
    const middle = deferred()
    const { open } = await start(async (turn) => {
      await turn.artifact('log').write('Before. ')
      const { value } = await turn.ask('Where to?')
      await turn.artifact('trip').write(`To ${value}`)
      await middle.promise
      return 'Done.'
    })
    const first = open()
    await first.sendMessage({ text: 'go' })
    const second = open(first.messages)
    await second.resumeStream()
    const tool = second.lastMessage?.parts.find((part) => part.type === 'dynamic-tool')
    await second.addToolOutput({ tool: 'ask', toolCallId: `${tool?.toolCallId}`, output: 'Rome' as never })
    await until(() => textOf(second.lastMessage).includes('To Rome'))
    const third = open(second.messages)
    const resumed = third.resumeStream()
    await until(() => third.status === 'streaming' && textOf(third.lastMessage).includes('To Rome'))
    middle.resolve()
    await resumed
    expect(third.error).toBeUndefined()
    expect(third.messages).toHaveLength(2)
    expect(textOf(third.lastMessage)).toBe('Before. |Where to?|To Rome|Done.')
    await until(() => second.status === 'ready')
  })

  it('stop cancels the task, also before its first event, and leaves no rejection', async () => {
    const { open, client } = await start(async (turn) => {
      if (turn.text === 'stream') await turn.artifact('answer').write('one ')
      if (turn.text === 'work') await turn.status('working')
      await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
    })
    for (const text of ['stream', 'work']) {
      const chat = open()
      const sent = chat.sendMessage({ text })
      await until(() => (text === 'stream' ? textOf(chat.lastMessage) === 'one ' : chat.status === 'submitted'))
      await chat.stop()
      await sent
      expect(chat.status).toBe('ready')
    }
    await until(async () => {
      const states: string[] = []
      for await (const { status } of client.listTasks()) states.push(status.state)
      return states.length === 2 && states.every((state) => state === 'canceled')
    })
  })

  it('a failed task and an unreachable agent are errors in words', async () => {
    const { open } = await start(async (turn) => {
      await turn.artifact('answer').write('partial')
      await turn.fail('The printer is on fire.')
    })
    const chat = open()
    await chat.sendMessage({ text: 'print' })
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toBe('The printer is on fire.')
    expect(textOf(chat.lastMessage)).toBe('partial')
    const transport = new A2AChatTransport({ agent: () => connect('http://127.0.0.1:9/', { retry: { tries: 1 } }) })
    const lost = new Chat({ transport })
    await lost.sendMessage({ text: 'hello' })
    expect(lost.status).toBe('error')
    expect(lost.error?.message).toMatch(/127\.0\.0\.1:9/)
  })

  it('wrong options are named', () => {
    expect(() => new A2AChatTransport({} as never)).toThrow('agent: expected a client, an address or a function')
    const misspelled: object = { agent: 'https://a.example', cancelOnStopp: true }
    expect(() => new A2AChatTransport(misspelled as never)).toThrow('cancelOnStopp')
  })
})
