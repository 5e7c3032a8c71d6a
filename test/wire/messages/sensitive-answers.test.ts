import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { AgentImplementation } from '../../../src/core/agent/agent-function.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { JsonObject } from '../../../src/core/base/json.ts'
import type { Logger } from '../../../src/core/base/logger.ts'
import { createPushFetch } from '../../../src/core/node/guarded-fetch/push-fetch.ts'
import { agent } from '../../../src/core/node/local-agent.node.ts'
import { inputRequestIn, toolResult } from '../../../src/core/protocol/extensions/client-tools.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { type ConnectOptions, connect } from '../../../src/entries/client.ts'
import { clientTool, createAgentLoop, localTool, remoteAgent } from '../../../src/entries/loop.ts'
import { openTelemetry } from '../../../src/entries/telemetry.ts'
import { serve } from '../../../src/serve/serve.ts'
import { collect, until } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { scriptedModel, textReply, toolCalls } from '../../support/models/scripted-model.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { recordSpans } from '../../support/telemetry/spans.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const canary = 'harmless-canary'
const password = 'correct horse battery staple'
const pin = 4821

/** The contents of all files in the folder. */
async function bytesIn(directory: string): Promise<string> {
  const copies = await temporaryDirectory()
  const names = await readdir(directory)
  for (const name of names) await copyFile(join(directory, name), join(copies, name))
  return (await Promise.all(names.map((name) => readFile(join(copies, name), 'latin1')))).join()
}

/** An agent that writes the answers into a status, data, an artifact, its log and an error. */
async function careless(turn: Turn): Promise<string> {
  const { text } = await turn.ask(`${canary}: your password?`, { sensitive: true })
  await turn.status('working', `${canary}: you said ${text}`)
  const schema = z.object({ pin: z.number() })
  const { pin: said } = await turn.ask('And your PIN?', { sensitive: true, schema })
  await turn.data({ canary, text, said, nested: [{ note: `PIN ${said}` }] })
  await turn.artifact('notes').close(`${canary}: ${text} ${said}`)
  turn.log.warn({ canary, text, said, error: new Error(`${canary} ${text}`) }, `${canary}: ${text}`)
  throw new Error(`${canary}: ${text} and ${said} are wrong`)
}

const input = z.object({})
const login = clientTool({ name: 'login', input, sensitive: true })

/** A model that repeats the answer to a tool and, in chunks, to the caller. */
function indiscreet() {
  const seen: string[] = []
  const use = localTool({ name: 'use', input: z.object({ key: z.string() }), run: ({ key }) => seen.push(key) })
  const repeating = scriptedModel(
    toolCalls(['login', '{}']),
    toolCalls(['use', JSON.stringify({ key: password })]),
    textReply(`${canary}: it was `, password.slice(0, 9), password.slice(9), '.'),
  )
  return { loop: createAgentLoop({ model: repeating, tools: [login, use] }), seen }
}

interface Case {
  readonly work: AgentImplementation
  readonly recovery?: 'resume'
  /** The caller's answers, in order. */
  readonly answers: readonly ('password' | 'pin')[]
  readonly state: string
}

const asking = createHandler(agent({ name: 'Asking' }, careless), { auth: 'none', logger: silentLogger })

it.each<[string, () => Case]>([
  ['a turn that asks', () => ({ work: careless, answers: ['password', 'pin'], state: 'failed' })],
  [
    'a durable turn that asks',
    () => ({ work: careless, recovery: 'resume', answers: ['password', 'pin'], state: 'failed' }),
  ],
  ['a client tool', () => ({ work: indiscreet().loop, answers: ['password'], state: 'completed' })],
  [
    'a client tool in a durable turn',
    () => ({ work: indiscreet().loop, recovery: 'resume', answers: ['password'], state: 'completed' }),
  ],
  [
    'a called agent that asks',
    () => ({
      work: async (turn) => {
        const failed = await turn.call(asking, 'go').catch((error) => error)
        await turn.status('working', `${canary}: ${failed.message}`)
        throw failed
      },
      answers: ['password', 'pin'],
      state: 'failed',
    }),
  ],
  [
    'a called agent that is a tool of a loop',
    () => ({
      work: createAgentLoop({
        model: scriptedModel(toolCalls(['Asking', '{"text":"go"}']), textReply(canary)),
        tools: [remoteAgent(asking)],
      }),
      recovery: 'resume',
      answers: ['password', 'pin'],
      state: 'completed',
    }),
  ],
])('the answer to a sensitive question is not stored, sent, pushed, traced or logged: %s', async (_, caseOf) => {
  const { work, recovery, answers, state } = caseOf()
  const { all } = recordSpans()
  const directory = await temporaryDirectory()
  const hook = await startWebhookReceiver()
  const logged: string[] = []
  const note = (fields: object, message: string) =>
    void logged.push(`${message} ${inspect(fields, { depth: 20 })} ${JSON.stringify(fields)}`)
  const logger: Logger = { debug: note, info: note, warn: note, error: note }
  const server = await serve(agent({ name: 'Careless', ...(recovery && { recovery }) }, work), {
    ...{ port: 0, signals: false, directory, logger, drainDeadline: 0, turns: { cancelGrace: 50 } },
    telemetry: openTelemetry({ events: true }),
    push: { fetch: createPushFetch({ loopback: 'allow' }), events: ['status', 'artifact', 'message'] },
  })
  onTestFinished(() => server.close())

  const bodies: string[] = []
  const listening: NonNullable<ConnectOptions['fetch']> = async (url, init) => {
    const response = await fetch(url, init)
    bodies.push(await response.clone().text())
    return response
  }
  const client = await connect(server.url, { fetch: listening })
  const talk = client.conversation()
  let { task } = await talk.send(canary, { push: { url: hook.url } })
  const result = (answer: 'password' | 'pin') => (answer === 'pin' ? { pin } : password)
  for (const [at, answer] of answers.entries()) {
    expect(task?.status.state).toBe('input-required')
    const request = inputRequestIn(task?.status.message) as JsonObject
    expect(request.sensitive).toBe(true)
    const data = { toolUseId: `${request.requestId}`, result: result(answer) }
    // The first of two answers is plain text; others name the request id.
    const said = at === 0 && answers.length > 1 ? password : { data, mediaType: toolResult }
    task = (await talk.send(said)).task
  }
  expect(task?.status.state).toBe(state)
  await collect(client.listTasks({ includeArtifacts: true, historyLength: 100 }))
  await collect(client.task(task?.id ?? '').subscribe()).catch(() => {})
  await until(() => hook.requests.some(({ body }) => /TASK_STATE_(FAILED|COMPLETED)/.test(body)))
  await until(() => all().some(({ name }) => name === 'invoke_agent Careless'))

  const traced = all().map(({ name, attributes, status, events }) => [name, attributes, status, events])
  const places = {
    stored: await bytesIn(directory),
    sent: bodies.join('\n'),
    pushed: hook.requests.map(({ body, headers }) => body + JSON.stringify(headers)).join('\n'),
  }
  for (const [place, text] of Object.entries(places)) expect(text, place).toContain(canary)
  for (const [place, text] of Object.entries({
    ...places,
    traced: JSON.stringify(traced),
    logged: logged.join('\n'),
  })) {
    for (const secret of [password, encodeURIComponent(password), btoa(password).slice(0, -4)]) {
      expect(text.includes(secret), `the password is ${place}`).toBe(false)
    }
    // Four digits also occur by chance in bytes and times, so look for the forms that the agent writes.
    for (const form of [`PIN ${pin}`, `"said":${pin}`, `staple ${pin}`, `and ${pin}`, `"pin":${pin}`]) {
      expect(text.includes(form), `the PIN is ${place}`).toBe(false)
    }
  }
})
