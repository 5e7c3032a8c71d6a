import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { textOf } from '../../src/core/protocol/model.ts'
import { connect } from '../../src/entries/client.ts'
import { type AgentLoopOptions, createAgentLoop } from '../../src/loop/agent-loop.ts'
import { mcpTools } from '../../src/loop/mcp/mcp-tools.ts'
import { localTool } from '../../src/loop/tools/tool.ts'
import { createRecordingLogger } from '../support/logger.ts'
import { scriptedModel, textReply, toolCalls } from '../support/models/scripted-model.ts'
import { scriptedOpenAI, sendError } from '../support/models/scripted-openai.ts'
import { closedPort } from '../support/servers/http-server.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

/** Sends a message to an agent with this loop, and returns what the caller and the operator get. */
async function run(options: AgentLoopOptions, serverOptions: TestServerOptions = {}) {
  const { lines, logger } = createRecordingLogger()
  const { server } = await startTestServer(createAgentLoop(options), { logger, ...serverOptions })
  const { task } = await (await connect(server.url)).send('What callers send')
  const failures = lines.filter(({ level }) => level === 'warn' || level === 'error')
  return { failures, text: task?.status.message && textOf(task.status.message), state: task?.status.state, task }
}

it('a model that cannot be reached is logged with its cause, and the caller learns what to do', async () => {
  const baseURL = `http://127.0.0.1:${await closedPort()}/v1`
  const model = createOpenAICompatible({ name: 'local', baseURL, apiKey: 'sk-very-secret' })('tiny')
  const { failures, text, state, task } = await run({ model, modelRetries: 0 })
  expect(state).toBe('failed')
  expect(text).toBe(
    'The model could not be called. Try again later; the operator finds the cause in the log of the agent.',
  )
  expect(failures).toMatchObject([
    {
      level: 'error',
      message: 'a model call failed',
      fields: { taskId: task?.id, provider: 'local.chat', model: 'tiny' },
    },
  ])
  const logged = JSON.stringify(failures)
  expect(logged).toContain('ECONNREFUSED')
  expect(logged).not.toMatch(/sk-very-secret|What callers send/)
})

it('the log has the answer of a provider that refuses the key, and not the key', async () => {
  const { model } = await scriptedOpenAI(sendError(401, 'Incorrect API key provided: sk-very-secret'))
  const { failures } = await run({ model })
  expect(failures).toMatchObject([{ fields: { error: { status: 401, message: 'Incorrect API key provided: ***' } } }])
})

it.each(['fail', 'resume'] as const)(
  'a failed tool is one line with its cause, with the recovery %s',
  async (recovery) => {
    const input = z.object({})
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const fails = localTool({
      name: 'search',
      input,
      run: () => Promise.reject(new Error('no index at https://me:hunter2@search.example', { cause })),
    })
    const model = scriptedModel(toolCalls(['search', '{}']), textReply('Sorry'))
    const { failures, state } = await run({ model, tools: [fails] }, { recovery })
    expect(state).toBe('completed')
    expect(failures).toMatchObject([
      {
        level: 'warn',
        message: 'a tool failed',
        fields: {
          tool: 'search',
          error: { message: 'no index at https://***@search.example', cause: { code: 'ECONNREFUSED' } },
        },
      },
    ])
  },
)

it('a missing program of an MCP server is named once, although two steps look for its tools', async () => {
  const tools = mcpTools({ command: 'no-such-mcp-server', args: ['--token', 'hunter2'] })
  const input = z.object({})
  const idle = localTool({ name: 'idle', input, run: () => 1 })
  const { failures, state } = await run({
    model: scriptedModel(toolCalls(['idle', '{}']), textReply('Done')),
    tools: [tools, idle],
  })
  expect(state).toBe('completed')
  expect(failures).toMatchObject([
    {
      level: 'warn',
      message: 'an MCP server cannot be reached',
      fields: {
        server: 'no-such-mcp-server',
        problem:
          'The MCP server no-such-mcp-server cannot be reached: there is no program no-such-mcp-server. Install it, or give its full path as command.',
      },
    },
  ])
  expect(JSON.stringify(failures)).not.toContain('hunter2')
})

it.each([
  [undefined, 'got nothing'],
  ['gpt-5', 'got "gpt-5"'],
  [{ modelId: 'gpt-5' }, 'got an object without doStream'],
  [
    { specificationVersion: 'v2', doStream() {} },
    'expected a model of specification v3 or v4, as providers for AI SDK 6 and 7 have them, got v2',
  ],
])('createAgentLoop refuses the model %j at once', (model, problem) => {
  const options = { model } as unknown as AgentLoopOptions
  expect(() => createAgentLoop(options)).toThrow(problem)
  expect(() => createAgentLoop(options)).toThrow(/^createAgentLoop\(\): model: expected/)
})
