import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { skill } from '../../src/agent/skill.ts'
import type { Logger } from '../../src/base/logger.ts'
import { apiKey, hashApiKey, newApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { createMemoryLog } from '../../src/tasks/memory-log.ts'
import { until } from '../support/async.ts'
import { startWebhookReceiver } from '../support/push/webhook-receiver.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'
import { sendParams } from '../support/wire/wire-client.ts'

interface Line {
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Records log lines in the style of pino: fields first, then the message. */
function createRecordingLogger() {
  const lines: Line[] = []
  const record = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...fields } })
  const logger: Logger = { debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') }
  return { lines, logger }
}

const traceId = '0af7651916cd43dd8448eb211c80319c'
const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'x-request-id': 'req-1' }

it('log lines of a turn and of its failure contain task, context and trace ids', async () => {
  const { lines, logger } = createRecordingLogger()
  const { server } = await startTestServer(
    async (turn) => {
      turn.log.info({ step: 1 }, 'looking')
      await turn.status('working', 'Looking')
      throw new Error('No more paper')
    },
    { logger },
  )
  const { task } = await (await connect(server.url)).send('go', { headers })
  const ids = { taskId: task?.id, contextId: task?.contextId, traceId }
  expect(lines).toMatchObject([
    { level: 'info', message: 'looking', fields: { ...ids, step: 1 } },
    { level: 'error', message: 'the agent failed', fields: { ...ids, error: { name: 'Error' } } },
  ])
})

describe('what callers send and what an author throws', () => {
  const send = async (text: string, options: TestServerOptions) => {
    const { lines, logger } = createRecordingLogger()
    const { wire } = await startTestServer(
      (turn) => {
        if (turn.text.includes('reject')) throw new A2AError('unsupported-operation', `No such canary: ${turn.text}`)
        throw new TypeError(`A canary from ${turn.text}`, { cause: new Error('another canary') })
      },
      { logger, ...options },
    )
    await wire.call('SendMessage', sendParams(text))
    return { lines, text: inspect(lines, { depth: null }) }
  }

  it.each(['canary', 'reject a canary'])(
    '%s: the log has the place of an error, and none of its text',
    async (text) => {
      const { lines, text: logged } = await send(text, {})
      expect(logged).not.toContain('canary')
      expect(lines).toHaveLength(1)
      expect(lines[0]?.fields).toMatchObject({
        error: {
          name: text === 'canary' ? 'TypeError' : 'A2AError',
          stack: expect.stringMatching(/logs\.test\.ts:\d+/),
        },
        hint: expect.stringContaining('turns.errorMessages'),
      })
    },
  )

  it('the log has the text of an error if the operator asks for it', async () => {
    const { text: logged } = await send('canary', { turns: { errorMessages: true } })
    expect(logged).toMatch(/TypeError: A canary from canary/)
    expect(logged).toMatch(/another canary/)
  })

  it('the log has the fields of a wrong skill output, and not the output', async () => {
    const { lines, logger } = createRecordingLogger()
    const output = z.object({
      name: z.string().refine((name) => name === 'x', { error: (issue) => `not ${issue.input}` }),
    })
    const skills = [skill({ id: 'lookup', name: 'Look up', output, run: () => ({ name: 'canary' }) })]
    const { wire } = await startTestServer(undefined, { logger, profile: { name: 'Test', skills } })
    await wire.call('SendMessage', sendParams('go'))
    expect(inspect(lines, { depth: null })).not.toContain('canary')
    expect(lines).toMatchObject([
      { message: 'a skill gave what does not fit its schema', fields: { skill: 'lookup', fields: ['name'] } },
      { message: 'the agent failed', fields: { error: { code: 'invalid-agent-response' } } },
    ])
  })
})

it('log lines of failed and rejected requests contain valid request and trace ids', async () => {
  const { lines, logger } = createRecordingLogger()
  const log = createMemoryLog()
  const broken = { ...log, head: () => Promise.reject(new Error('The disk is gone')) }
  const key = newApiKey()
  const schemes = { key: apiKey({ keys: [{ id: 'me', scopes: [], hash: await hashApiKey(key) }] }) }
  const { wire } = await startTestServer(() => 'hi', { logger, log: broken, auth: { schemes } })
  const getTask = (more: Record<string, string>) => wire.call('GetTask', { id: 'x' }, { ...headers, ...more })
  await getTask({ 'x-api-key': key })
  await getTask({ 'x-api-key': 'wrong' })
  await getTask({ 'x-api-key': key, 'x-request-id': 'forged "line" with spaces', traceparent: 'nonsense' })
  const failures = lines.filter(({ message }) => message === 'a request failed unexpectedly')
  expect(failures.map(({ fields: { requestId, traceId: trace } }) => [requestId, trace])).toEqual([
    ['req-1', traceId],
    [undefined, undefined],
  ])
  const rejected = lines.filter(({ message }) => message === 'credentials were refused')
  expect(rejected).toMatchObject([{ fields: { requestId: 'req-1', traceId, scheme: 'key' } }])
})

it('the log line of a paused webhook contains its task and no secret', async () => {
  const { lines, logger } = createRecordingLogger()
  const hook = await startWebhookReceiver((_, response) => response.writeHead(500).end())
  const push = { loopback: 'allow', schemes: ['http'], retry: { attempts: 1 }, pauseAfter: 1 } as const
  const { server } = await startTestServer((turn) => turn.status('completed', 'Done'), { logger, push })
  const config = { url: hook.url, token: 'hunter2', authentication: { scheme: 'Bearer', credentials: 'hunter3' } }
  const { task } = await (await connect(server.url)).send('go', { headers, push: config })
  const paused = () => lines.find(({ message }) => message.startsWith('paused a webhook'))
  await until(() => paused() !== undefined)
  expect(paused()?.fields).toMatchObject({ taskId: task?.id, contextId: task?.contextId, traceId })
  expect(JSON.stringify(lines)).not.toMatch(/hunter/)
})
