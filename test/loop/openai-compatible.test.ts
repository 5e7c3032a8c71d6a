import { expect, it } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/local-agent.node.ts'
import { type AgentLoopOptions, createAgentLoop } from '../../src/loop/agent-loop.ts'
import { localTool } from '../../src/loop/tools/tool.ts'
import { textOf } from '../../src/protocol/model.ts'
import { pair } from '../../src/testing/pair.ts'
import { type Act, begins, chunk, refuses, scriptedOpenAI, streams } from '../support/models/scripted-openai.ts'

const add = localTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
})

const calling = (name: string, ...pieces: string[]) => [
  chunk({
    role: 'assistant',
    tool_calls: [{ index: 0, id: 'c-1', type: 'function', function: { name, arguments: '' } }],
  }),
  ...pieces.map((text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
  chunk({}, 'tool_calls'),
]
const saying = (...texts: string[]) => [...texts.map((content) => chunk({ content })), chunk({}, 'stop')]

async function ask(acts: Act[], options: Partial<AgentLoopOptions> = {}) {
  const { model, asked } = await scriptedOpenAI(...acts)
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const loop = createAgentLoop({ model, tools: [add], onError, ...options })
  await using opened = await pair(agent({ name: 'Looping' }, loop))
  const events = []
  for await (const event of opened.client.stream('1 and 2?')) events.push(event)
  const chunks = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
  const last = events.at(-1)
  const status = last?.type === 'status' ? last.status : undefined
  return { asked, errors, events, last, status, texts: chunks.map((part) => ('text' in part ? part.text : '')) }
}

it('streams, calls tools whose arguments come in pieces, and counts what was used', async () => {
  const { asked, texts, last } = await ask([
    streams(...calling('add', '{"a":1', ',"b":', '2}')),
    streams(...saying('It is', ' three')),
  ])
  expect(texts).toEqual(['It is', ' three', ''])
  expect(last).toMatchObject({
    status: { state: 'completed' },
    metadata: { usage: { inputTokens: 14, outputTokens: 6, steps: 2, toolCalls: 1 }, finishReason: 'stop' },
  })
  expect(asked[0]).toMatchObject({ stream: true, tools: [{ function: { name: 'add' } }] })
  expect(asked[1]?.messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c-1', content: '{"sum":3}' })
})

it('tells the model of calls that are nonsense, and goes on', async () => {
  const { asked, status } = await ask([
    streams(...calling('fly', '{}')),
    streams(...calling('add', '{"a":')),
    streams(...calling('add', '{"a":"x"}')),
    streams(...saying('Sorry')),
  ])
  expect(status?.state).toBe('completed')
  const told = asked.slice(1).map(({ messages }) => `${messages.at(-1)?.content}`)
  expect(told[0]).toContain('There is no tool "fly". There are: add.')
  expect(told[1]).toContain('are no JSON')
  expect(told[2]).toContain('do not fit: a: ')
})

it.each<[string, Act, string]>([
  [
    'says so',
    begins(saying('It').slice(0, 1), (response) =>
      response.end('data: {"error":{"message":"sk-very-secret is overloaded"}}\n\n'),
    ),
    'broke off',
  ],
  ['is cut off', begins(saying('It').slice(0, 1), (response) => response.destroy()), 'broke off'],
  [
    'sends what is no JSON',
    begins(saying('It').slice(0, 1), (response) => response.end('data: {"choi\n\n')),
    'broke off',
  ],
  ['refuses the key', refuses(401, 'bad key sk-very-secret'), 'could not be asked'],
  ['hangs', begins(saying('It').slice(0, 1), () => {}), 'said nothing for 0.2 seconds'],
])('fails the task in clear words when the provider %s, and tells no secrets', async (_, act, words) => {
  const { status, events, errors } = await ask([act], { modelTimeout: 200 })
  expect(status?.state).toBe('failed')
  expect(status?.message && textOf(status.message)).toContain(words)
  expect(JSON.stringify(events)).not.toContain('sk-very-secret')
  expect(errors.length).toBeGreaterThan(0)
})

it('asks again when the provider was only overloaded, as often as it may', async () => {
  const { asked, status } = await ask([refuses(503, 'overloaded'), streams(...saying('Hi'))])
  expect([status?.state, asked.length]).toEqual(['completed', 2])
  const { status: failed, asked: once } = await ask([refuses(503, 'overloaded')], { modelRetries: 0 })
  expect([failed?.state, once.length]).toEqual(['failed', 1])
})

it('stops a model that calls tools without end, or answers with nothing', async () => {
  const endless = await ask([streams(...calling('add', '{"a":1,"b":2}'))], { maxSteps: 3 })
  expect(endless.status?.message && textOf(endless.status.message)).toContain('did not finish within 3 steps')
  expect(endless.asked).toHaveLength(3)
  const empty = await ask([streams(...saying())])
  expect(empty.status?.message && textOf(empty.status.message)).toBe('The model gave an empty answer (stop).')
})
