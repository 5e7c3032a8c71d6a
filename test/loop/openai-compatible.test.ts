import { expect, it } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/core/node/local-agent.node.ts'
import { textOf } from '../../src/core/protocol/model.ts'
import { type AgentLoopOptions, createAgentLoop } from '../../src/loop/agent-loop.ts'
import { localTool } from '../../src/loop/tools/tool.ts'
import { createPair } from '../../src/testing/pair.ts'
import {
  chunk,
  type Respond,
  scriptedOpenAI,
  sendError,
  sendStream,
  startStream,
} from '../support/models/scripted-openai.ts'

const add = localTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
})

const toolCallChunks = (name: string, ...pieces: string[]) => [
  chunk({
    role: 'assistant',
    tool_calls: [{ index: 0, id: 'c-1', type: 'function', function: { name, arguments: '' } }],
  }),
  ...pieces.map((text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
  chunk({}, 'tool_calls'),
]
const textChunks = (...texts: string[]) => [...texts.map((content) => chunk({ content })), chunk({}, 'stop')]

async function run(steps: Respond[], options: Partial<AgentLoopOptions> = {}) {
  const { model, requests } = await scriptedOpenAI(...steps)
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const loop = createAgentLoop({ model, tools: [add], onError, ...options })
  await using connection = await createPair(agent({ name: 'Looping' }, loop))
  const events = []
  for await (const event of connection.client.stream('1 and 2?')) events.push(event)
  const chunks = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
  const last = events.at(-1)
  const status = last?.type === 'status' ? last.status : undefined
  return { requests, errors, events, last, status, texts: chunks.map((part) => ('text' in part ? part.text : '')) }
}

it('the loop streams text, joins chunked tool arguments, and sums the usage', async () => {
  const { requests, texts, last } = await run([
    sendStream(...toolCallChunks('add', '{"a":1', ',"b":', '2}')),
    sendStream(...textChunks('It is', ' three')),
  ])
  expect(texts.filter((text) => text !== '')).toEqual(['It is', ' three'])
  expect(last).toMatchObject({
    status: { state: 'completed' },
    metadata: { usage: { inputTokens: 14, outputTokens: 6, steps: 2, toolCalls: 1 }, finishReason: 'stop' },
  })
  expect(requests[0]).toMatchObject({ stream: true, tools: [{ function: { name: 'add' } }] })
  expect(requests[1]?.messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c-1', content: '{"sum":3}' })
})

it('the model receives errors for invalid calls, and the loop continues', async () => {
  const { requests, status } = await run([
    sendStream(...toolCallChunks('fly', '{}')),
    sendStream(...toolCallChunks('add', '{"a":')),
    sendStream(...toolCallChunks('add', '{"a":"x"}')),
    sendStream(...textChunks('Sorry')),
  ])
  expect(status?.state).toBe('completed')
  const results = requests.slice(1).map(({ messages }) => `${messages.at(-1)?.content}`)
  expect(results[0]).toContain('There is no tool "fly". There are: add.')
  expect(results[1]).toContain('are not JSON')
  expect(results[2]).toContain('do not fit: a: ')
})

it.each<[string, Respond, string]>([
  [
    'reports an error',
    startStream(textChunks('It').slice(0, 1), (response) =>
      response.end('data: {"error":{"message":"sk-very-secret is overloaded"}}\n\n'),
    ),
    'broke off',
  ],
  ['closes the connection', startStream(textChunks('It').slice(0, 1), (response) => response.destroy()), 'broke off'],
  [
    'sends invalid JSON',
    startStream(textChunks('It').slice(0, 1), (response) => response.end('data: {"choi\n\n')),
    'broke off',
  ],
  ['refuses the key', sendError(401, 'bad key sk-very-secret'), 'could not be called'],
  ['hangs', startStream(textChunks('It').slice(0, 1), () => {}), 'sent nothing for 0.2 seconds'],
])('the task fails without secrets in its text if the provider %s', async (_, respond, text) => {
  const { status, events, errors } = await run([respond], { modelTimeout: 200 })
  expect(status?.state).toBe('failed')
  expect(status?.message && textOf(status.message)).toContain(text)
  expect(JSON.stringify(events)).not.toContain('sk-very-secret')
  expect(errors.length).toBeGreaterThan(0)
})

it('an overloaded provider is retried up to modelRetries times', async () => {
  const { requests, status } = await run([sendError(503, 'overloaded'), sendStream(...textChunks('Hi'))])
  expect([status?.state, requests.length]).toEqual(['completed', 2])
  const { status: failed, requests: single } = await run([sendError(503, 'overloaded')], { modelRetries: 0 })
  expect([failed?.state, single.length]).toEqual(['failed', 1])
})

it('the task fails if the model calls tools endlessly or sends an empty answer', async () => {
  const endless = await run([sendStream(...toolCallChunks('add', '{"a":1,"b":2}'))], { maxSteps: 3 })
  expect(endless.status?.message && textOf(endless.status.message)).toContain('did not finish within 3 steps')
  expect(endless.requests).toHaveLength(3)
  const empty = await run([sendStream(...textChunks())])
  expect(empty.status?.message && textOf(empty.status.message)).toBe('The model gave an empty answer (stop).')
})
