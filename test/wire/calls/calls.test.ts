import { describe, expect, it, onTestFinished } from 'vitest'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import type { CallAnswer, CallSpec } from '../../../src/core/agent/call-agent.ts'
import { lineageExtension } from '../../../src/core/protocol/extensions/lineage.ts'
import type { Message, Task } from '../../../src/core/protocol/model.ts'
import { apiKey, hashApiKey, newApiKey } from '../../../src/entries/auth.ts'
import { connect, type Output } from '../../../src/entries/client.ts'
import { apiKeyCredentials } from '../../../src/entries/client-auth.ts'
import { agent, createHandler, type LocalAgent, type ServeOptions, serve } from '../../../src/entries/index.ts'
import { collect, deferred, until } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

async function start(localAgent: LocalAgent, options: ServeOptions = {}): Promise<string> {
  const directory = await temporaryDirectory()
  const common = {
    port: 0,
    signals: false,
    directory,
    logger: silentLogger,
    drainDeadline: 0,
    turns: { cancelGrace: 50 },
  }
  const server = await serve(localAgent, { ...common, ...options })
  onTestFinished(() => server.close())
  return server.url
}

it('a turn calls another agent with its own credentials and names the calling task', async () => {
  const key = newApiKey()
  const hash = await hashApiKey(key)
  const received: { readonly principal: string; readonly message: Message }[] = []
  const writer = agent({ name: 'Writer' }, async (turn) => {
    received.push({ principal: turn.principal.id, message: turn.message })
    await turn.artifact('text').close(`A text about ${turn.text}`)
  })
  const url = await start(writer, {
    auth: { schemes: { key: apiKey({ keys: [{ id: 'planner', scopes: [], hash }] }) } },
  })
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const { text, agent: by, task, artifacts } = await turn.call(url, turn.text)
    return `${by}: ${text} (${task?.status.state}, ${artifacts.length})`
  })
  const client = await connect(await start(planner, { calls: { auth: [apiKeyCredentials(key)] } }))
  const { text, task } = await client.send('rain')
  expect(text).toBe('Writer: A text about rain (completed, 1)')
  expect(received).toMatchObject([{ principal: 'planner', message: { referenceTaskIds: [task?.id] } }])
  const { metadata } = received[0]?.message ?? {}
  expect(metadata?.[lineageExtension]).toMatchObject({
    chain: [{ agent: 'Planner', taskId: task?.id }],
    to: { agent: 'Writer' },
  })
})

it('an agent that other machines can call does not call an agent on its own machine unless its operator allows it', async () => {
  const url = await start(agent({ name: 'Internal' }, () => 'secret'))
  const relay = agent({ name: 'Relay' }, async (turn) => (await turn.call(turn.text, 'hi')).text)
  const answer = async (options: ServeOptions) => (await (await connect(await start(relay, options))).send(url)).text
  for (const exposed of [{ host: '0.0.0.0', auth: 'none' }, { publicUrl: 'https://a.example' }] as const) {
    expect(await answer(exposed)).toContain('gave no answer')
    expect(await answer({ ...exposed, calls: { loopback: 'allow' } })).toBe('secret')
  }
  expect(await answer({})).toBe('secret')
})

it('a call target can be a local agent, a card, a client or a URL', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => `You said: ${turn.text}`)
  const url = await start(echo)
  const client = await connect(url)
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const targets = [echo, client.card, client, url, new URL(url)]
    const answers = await Promise.all(targets.map((target) => turn.call(target, 'hi')))
    return answers.map(({ text, message }) => `${text} ${message?.role}`).join(', ')
  })
  // A card may come from elsewhere, so that it leads to this machine only if the operator allows it.
  const served = await connect(await start(planner, { calls: { loopback: 'allow' } }))
  const { text, type } = await served.send('go')
  expect([type, text]).toEqual(['message', Array(5).fill('You said: hi agent').join(', ')])
})

it.each<[string, AgentFunction]>([
  ['a message', () => 'Hello'],
  ['an answer in a task', (turn) => turn.status('working', 'Hm').then(() => 'Hello')],
  [
    'artifacts of text, data and files',
    async (turn) => {
      await turn.artifact('text.md').close('A text')
      await turn.artifact('table').close([{ data: { rows: 2 } }, { raw: 'aGk=', filename: 'hi.txt' }])
      return 'A remark'
    },
  ],
  ['a status only', (turn) => turn.status('working', 'The only words').then(() => undefined)],
])('turn.call returns what client.send returns: %s', async (_, run) => {
  const called = await connect(agent({ name: 'Called' }, run))
  const answers: CallAnswer[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => void answers.push(await turn.call(called, 'go')))
  await (await connect(planner)).send('go')
  const { type, text, artifacts, output } = await called.send('go')
  const comparable = (outputs: readonly Output[]) =>
    outputs.map(({ artifactId: _id, artifact: { parts }, ...other }) => ({ ...other, parts }))
  expect(answers).toMatchObject([{ agent: 'Called', type, text, output }])
  expect(comparable(answers[0]?.artifacts ?? [])).toEqual(comparable(artifacts))
  expect(text).not.toBe('')
})

it('calls in one context continue the conversation with the other agent, and other contexts start a new one', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => turn.contextId)
  const url = await start(echo)
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const first = await turn.call(url, 'a')
    const second = await turn.call(url, 'b')
    const third = await turn.call(url, 'c', { contextId: 'new' })
    return [first, second, third].map(({ text }) => text).join()
  })
  const client = await connect(planner)
  const conversation = client.conversation()
  const [first = '', second, third = ''] = (await conversation.send('go')).text.split(',')
  expect([second === first, third === first]).toEqual([true, false])
  expect((await conversation.send('go')).text.split(',')[0]).toBe(third)
  expect((await client.send('go')).text.split(',')[0]).not.toBe(third)
})

it.each([
  ['status', ['Asked Writer.', "Received Writer's result."]],
  ['none', []],
] as const)('with the relay "%s", progress of a call is %j', async (relay, expected) => {
  const url = await start(agent({ name: 'Writer' }, (turn) => turn.artifact('text').close('A text')))
  const planner = agent({ name: 'Planner' }, async (turn) => (await turn.call(url, 'write', { relay })).text)
  const events = await collect((await connect(await start(planner))).stream('go'))
  const statuses = events.flatMap((event) =>
    event.type === 'task' ? event.task.status : event.type === 'status' ? event.status : [],
  )
  const messages = statuses.flatMap(({ state, message }) => (state === 'working' && message ? message : []))
  expect(messages.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join(''))).toEqual(expected)
  for (const { referenceTaskIds } of messages) expect(referenceTaskIds).toHaveLength(1)
})

it('a call whose task fails reports no result', async () => {
  const url = await start(agent({ name: 'Writer' }, (turn) => turn.fail('No ink')))
  const planner = agent({ name: 'Planner' }, async (turn) => {
    await turn.call(url, 'write').catch(() => {})
    return 'done'
  })
  const events = await collect((await connect(await start(planner))).stream('go'))
  expect(JSON.stringify(events)).toContain('Asked Writer.')
  expect(JSON.stringify(events)).not.toContain('Received Writer')
})

it('a turn relays the progress of the called agent with a link to its task', async () => {
  const writer = agent({ name: 'Writer' }, async (turn) => {
    await turn.status('working', 'Coming')
    await turn.status('working', 'Sharpening the pencil')
    await turn.artifact('text.md').close('A text')
    return 'Done'
  })
  const url = await start(writer)
  let child: Task | undefined
  const progress: string[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const call = turn.call(url, 'write', { relay: 'all' })
    for await (const event of call) progress.push(event.type)
    child = (await call).task
    return 'Planned'
  })
  const events = await collect((await connect(await start(planner))).stream('go'))
  const statuses = events.flatMap((event) => (event.type === 'status' && event.status.message ? [event] : []))
  const relayed = statuses.find(({ status }) =>
    status.message?.parts.some((part) => 'text' in part && /pencil/.test(part.text)),
  )
  const link = { agent: 'Writer', taskId: child?.id, contextId: child?.contextId, state: 'working' }
  expect(relayed?.status.message).toMatchObject({
    referenceTaskIds: [child?.id],
    metadata: { [lineageExtension]: { children: [link] } },
  })
  expect(relayed?.metadata).toEqual({ [lineageExtension]: { children: [link] } })
  const artifacts = events.flatMap((event) => (event.type === 'artifact' ? [event.artifact] : []))
  expect(artifacts).toMatchObject([{ name: 'text.md', metadata: { [lineageExtension]: { children: [link] } } }])
  expect(progress).toContain('artifact')
})

it('a question passes up through several agents, and the answer passes down', async () => {
  const bottom = agent({ name: 'Bottom' }, async (turn) => {
    const colour = await turn.ask('Which colour?')
    const size = await turn.ask('Which size?')
    return `${colour.text} and ${size.text}`
  })
  const bottomUrl = await start(bottom)
  const middle = agent({ name: 'Middle' }, async (turn) => `Middle has ${(await turn.call(bottomUrl, turn.text)).text}`)
  const middleUrl = await start(middle)
  const top = agent({ name: 'Top' }, async (turn) => `Top has ${(await turn.call(middleUrl, turn.text)).text}`)
  const client = await connect(await start(top))
  const conversation = client.conversation()
  const first = await conversation.send('buy')
  expect([first.task?.status.state, first.text]).toEqual(['input-required', 'Which colour?'])
  const below = { agent: 'Bottom', state: 'input-required' }
  expect(first.task?.status.message?.metadata?.[lineageExtension]).toMatchObject({
    children: [{ agent: 'Middle', state: 'input-required', children: [below] }],
  })
  const second = await conversation.send('red')
  expect([second.task?.status.state, second.text]).toEqual(['input-required', 'Which size?'])
  const done = await conversation.send('large')
  expect([done.task?.status.state, done.text]).toEqual(['completed', 'Top has Middle has red and large'])
})

it('cancelling a task cancels its calls, through several agents', async () => {
  const stopped: string[] = []
  const reached = deferred()
  const waiting = (name: string, next?: string) =>
    agent({ name }, async (turn) => {
      turn.signal.addEventListener('abort', () => stopped.push(name))
      if (next) return (await turn.call(next, 'go')).text
      await turn.status('working', 'Hard')
      reached.resolve()
      await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
      return 'never'
    })
  const bottom = await start(waiting('Bottom'))
  const middle = await start(waiting('Middle', bottom))
  const client = await connect(await start(waiting('Top', middle)))
  const { task } = await client.send('go', { returnImmediately: true })
  await reached.promise
  const canceled = await client.task(task?.id ?? '').cancel()
  expect(canceled.status.state).toBe('canceled')
  await until(() => stopped.length === 3)
  expect([...stopped].sort()).toEqual(['Bottom', 'Middle', 'Top'])
  const below = await connect(bottom)
  const states = async () => (await collect(below.listTasks())).map(({ status }) => status.state)
  await until(async () => (await states())[0] === 'canceled')
})

it('the error of a called agent reaches the author of the turn but not the caller', async () => {
  const broken = agent({ name: 'Broken' }, async (turn) => turn.fail('The cellar is flooded'))
  const url = await start(broken)
  const errors: unknown[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const { text } = await turn.call(url, 'go').catch((error) => {
      errors.push(error)
      throw error
    })
    return text
  })
  const { text, task } = await (await connect(await start(planner))).send('go')
  expect(errors).toMatchObject([
    { name: 'CallFailed', agent: 'Broken', state: 'failed', message: expect.stringContaining('flooded') },
  ])
  expect(task?.status.state).toBe('failed')
  expect(text).toBe('The agent "Broken", which was asked for help, gave no answer (failed).')
})

describe('several calls at once', () => {
  /** Agents that answer when the test calls `finish`, and record which of them are running. */
  function createAgents(names: readonly string[]) {
    const running = new Set<string>()
    const canceled: string[] = []
    const answers = new Map(names.map((name) => [name, deferred<string>()]))
    let maxRunning = 0
    const agents = names.map((name) =>
      agent({ name }, async (turn) => {
        running.add(name)
        maxRunning = Math.max(maxRunning, running.size)
        await turn.status('working', 'Working')
        const aborted = new Promise<string>((resolve) => turn.signal.addEventListener('abort', () => resolve('')))
        const text = await Promise.race([answers.get(name)?.promise ?? '', aborted])
        running.delete(name)
        if (turn.signal.aborted) canceled.push(name)
        if (text === 'fail') return await turn.fail(`${name} is tired`)
        return text
      }),
    )
    const calls = agents.map((target): CallSpec => [target, 'go'])
    return {
      calls,
      running,
      canceled,
      finish: (name: string, text: string) => answers.get(name)?.resolve(text),
      maxRunning: () => maxRunning,
    }
  }

  it('callAll runs calls within the concurrency limit and returns all results in order', async () => {
    const { calls, finish, maxRunning, running } = createAgents(['A', 'B', 'C', 'D'])
    const planner = agent({ name: 'Planner' }, async (turn) => {
      const results = await turn.callAll(calls, { concurrency: 2 })
      return results
        .map((result) => (result.ok ? result.answer.text : `${result.error.agent} ${result.error.state}`))
        .join()
    })
    const reply = (await connect(planner)).send('go')
    await until(() => running.size === 2)
    expect([...running]).toEqual(['A', 'B'])
    finish('B', 'b')
    await until(() => running.has('C'))
    finish('C', 'fail')
    await until(() => running.has('D'))
    finish('D', 'd')
    finish('A', 'a')
    expect((await reply).text).toBe('a,b,C failed,d')
    expect(maxRunning()).toBe(2)
  })

  it('callFirst returns the first answer and cancels the other calls', async () => {
    const { calls, finish, canceled, running } = createAgents(['A', 'B', 'C'])
    const planner = agent({ name: 'Planner' }, async (turn) => {
      const { agent: by, text } = await turn.callFirst(calls)
      await until(() => canceled.length === 1)
      return `${by}: ${text}`
    })
    const reply = (await connect(planner)).send('go')
    await until(() => running.size === 3)
    finish('A', 'fail')
    finish('C', 'c')
    expect((await reply).text).toBe('C: c')
    expect(canceled).toEqual(['B'])
  })

  it.each(['callAll', 'callFirst'] as const)(
    '%s applies call options to each call, unless the call has its own',
    async (method) => {
      const seen: unknown[] = []
      const writer = (name: string) =>
        agent({ name }, async (turn) => {
          seen.push([name, turn.message.metadata?.skillId])
          await turn.artifact(`${name}.md`).close(name)
        })
      const planner = agent({ name: 'Planner' }, async (turn) => {
        const calls: CallSpec[] = [
          [writer('A'), 'go'],
          [writer('B'), 'go', { relay: 'none', skill: 'own' }],
        ]
        await turn[method](calls, { relay: 'all', skill: 'shared', concurrency: 1 })
      })
      const { artifacts } = await (await connect(planner)).send('go')
      expect(artifacts.map(({ name }) => name)).toEqual(['A.md'])
      expect(seen).toEqual(
        method === 'callAll'
          ? [
              ['A', 'shared'],
              ['B', 'own'],
            ]
          : [['A', 'shared']],
      )
    },
  )

  it('callFirst fails with all reasons when every call fails', async () => {
    const { calls, finish } = createAgents(['A', 'B'])
    finish('A', 'fail')
    finish('B', 'fail')
    const errors: string[] = []
    const planner = agent({ name: 'Planner' }, async (turn) => {
      await turn.callFirst(calls).catch((error) => errors.push(error.message))
    })
    await (await connect(planner)).send('go')
    expect(errors).toEqual([expect.stringMatching(/No agent answered.*A is tired.*B is tired/)])
  })
})

it('a turn that ends cancels the calls it did not wait for', async () => {
  const canceled = deferred()
  const reached = deferred()
  const slow = agent({ name: 'Slow' }, async (turn) => {
    turn.signal.addEventListener('abort', () => canceled.resolve())
    await turn.status('working', 'Slowly')
    reached.resolve()
    await canceled.promise
  })
  const planner = agent({ name: 'Planner' }, async (turn) => {
    turn.call(slow, 'go')
    await reached.promise
    return 'Done without it'
  })
  const { text } = await (await connect(planner)).send('go')
  expect(text).toBe('Done without it')
  await canceled.promise
})

it('a call sends the configured headers, such as those of a trace', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => turn.text)
  const received: (string | null)[][] = []
  const recording = {
    fetch(request: Request) {
      if (request.method === 'POST') received.push(['traceparent', 'x-own'].map((name) => request.headers.get(name)))
      return echo.fetch(request)
    },
  }
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const planner = createHandler(
    agent({ name: 'Planner' }, async (turn) => (await turn.call(recording, 'hi', { headers: { 'x-own': 'x' } })).text),
    {
      auth: 'none',
      calls: { headers: ({ agent: name }) => (name === 'Echo' ? { traceparent } : undefined) },
      logger: silentLogger,
    },
  )
  expect((await (await connect(planner)).send('go')).text).toBe('hi')
  expect(received).toEqual([[traceparent, 'x']])
})

it('a call to an invalid or unreachable target fails with a CallFailed error', async () => {
  const failures: unknown[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => {
    for (const target of ['http://127.0.0.1:9/', 'no address', { name: 'no card' }]) {
      await turn.call(target, 'go').catch((error) => failures.push(error))
    }
  })
  await (await connect(planner)).send('go')
  expect(failures).toMatchObject([
    { name: 'CallFailed', agent: 'http://127.0.0.1:9/', code: 'unavailable' },
    { name: 'CallFailed', code: 'invalid-params', message: expect.stringContaining('is not the address of an agent') },
    { name: 'CallFailed', agent: 'no card' },
  ])
})
