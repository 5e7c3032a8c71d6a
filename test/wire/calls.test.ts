import { describe, expect, it, onTestFinished } from 'vitest'
import type { CallSpec } from '../../src/agent/call-agent.ts'
import { apiKey, hashApiKey, newApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.ts'
import { apiKeyCredentials as ownKey } from '../../src/entries/client-auth.ts'
import { agent, createHandler, type LocalAgent, type ServeOptions, serve } from '../../src/entries/index.ts'
import { lineageExtension } from '../../src/protocol/extensions/lineage.ts'
import type { Message, Task } from '../../src/protocol/model.ts'
import { collect, deferred, until } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

async function served(made: LocalAgent, options: ServeOptions = {}): Promise<string> {
  const directory = await temporaryDirectory()
  const common = {
    port: 0,
    signals: false,
    directory,
    logger: silentLogger,
    drainDeadline: 0,
    turns: { cancelGrace: 50 },
  }
  const server = await serve(made, { ...common, ...options })
  onTestFinished(() => server.close())
  return server.url
}

it('asks another agent with its own credentials, and says for which task', async () => {
  const key = newApiKey()
  const hash = await hashApiKey(key)
  const seen: { readonly principal: string; readonly message: Message }[] = []
  const writer = agent({ name: 'Writer' }, async (turn) => {
    seen.push({ principal: turn.principal.id, message: turn.message })
    await turn.artifact('text').close(`A text about ${turn.text}`)
  })
  const url = await served(writer, {
    auth: { schemes: { key: apiKey({ keys: [{ id: 'planner', scopes: [], hash }] }) } },
  })
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const { text, agent: by, task, artifacts } = await turn.call(url, turn.text)
    return `${by}: ${text} (${task?.status.state}, ${artifacts.length})`
  })
  const client = await connect(await served(planner, { calls: { auth: [ownKey(key)] } }))
  const { text, task } = await client.send('rain')
  expect(text).toBe('Writer: A text about rain (completed, 1)')
  expect(seen).toMatchObject([{ principal: 'planner', message: { referenceTaskIds: [task?.id] } }])
  const { metadata } = seen[0]?.message ?? {}
  expect(metadata?.[lineageExtension]).toMatchObject({
    chain: [{ agent: 'Planner', taskId: task?.id }],
    to: { agent: 'Writer' },
  })
})

it('takes an agent of this process, a card and a connected client as well', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => `You said: ${turn.text}`)
  const url = await served(echo)
  const client = await connect(url)
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const targets = [echo, client.card, client, url, new URL(url)]
    const answers = await Promise.all(targets.map((target) => turn.call(target, 'hi')))
    return answers.map(({ text, message }) => `${text} ${message?.role}`).join(', ')
  })
  const { text, type } = await (await connect(planner)).send('go')
  expect([type, text]).toEqual(['message', Array(5).fill('You said: hi agent').join(', ')])
})

it('goes on with its conversation with another agent in the same context, and not for somebody else', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => turn.contextId)
  const url = await served(echo)
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const one = await turn.call(url, 'a')
    const two = await turn.call(url, 'b')
    const three = await turn.call(url, 'c', { contextId: 'new' })
    return [one, two, three].map(({ text }) => text).join()
  })
  const client = await connect(planner)
  const talk = client.conversation()
  const [one = '', two, three = ''] = (await talk.send('go')).text.split(',')
  expect([two === one, three === one]).toEqual([true, false])
  expect((await talk.send('go')).text.split(',')[0]).toBe(three)
  expect((await client.send('go')).text.split(',')[0]).not.toBe(three)
})

it('tells its caller how the other agent gets on, and which task that is', async () => {
  const writer = agent({ name: 'Writer' }, async (turn) => {
    await turn.status('working', 'Coming')
    await turn.status('working', 'Sharpening the pencil')
    await turn.artifact('text.md').close('A text')
    return 'Done'
  })
  const url = await served(writer)
  let child: Task | undefined
  const progress: string[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const call = turn.call(url, 'write', { relay: 'all' })
    for await (const event of call) progress.push(event.type)
    child = (await call).task
    return 'Planned'
  })
  const events = await collect((await connect(await served(planner))).stream('go'))
  const told = events.flatMap((event) => (event.type === 'status' && event.status.message ? [event] : []))
  const relayed = told.find(({ status }) =>
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

it('passes a question up through several agents, and the answer down', async () => {
  const bottom = agent({ name: 'Bottom' }, async (turn) => {
    const colour = await turn.ask('Which colour?')
    const size = await turn.ask('Which size?')
    return `${colour.text} and ${size.text}`
  })
  const bottomUrl = await served(bottom)
  const middle = agent({ name: 'Middle' }, async (turn) => `Middle has ${(await turn.call(bottomUrl, turn.text)).text}`)
  const middleUrl = await served(middle)
  const top = agent({ name: 'Top' }, async (turn) => `Top has ${(await turn.call(middleUrl, turn.text)).text}`)
  const client = await connect(await served(top))
  const talk = client.conversation()
  const asked = await talk.send('buy')
  expect([asked.task?.status.state, asked.text]).toEqual(['input-required', 'Which colour?'])
  const below = { agent: 'Bottom', state: 'input-required' }
  expect(asked.task?.status.message?.metadata?.[lineageExtension]).toMatchObject({
    children: [{ agent: 'Middle', state: 'input-required', children: [below] }],
  })
  const again = await talk.send('red')
  expect([again.task?.status.state, again.text]).toEqual(['input-required', 'Which size?'])
  const done = await talk.send('large')
  expect([done.task?.status.state, done.text]).toEqual(['completed', 'Top has Middle has red and large'])
})

it('cancels what it has asked for when it is canceled itself, through several agents', async () => {
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
  const bottom = await served(waiting('Bottom'))
  const middle = await served(waiting('Middle', bottom))
  const client = await connect(await served(waiting('Top', middle)))
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

it('fails with the words of the other agent for its author, and with none of them for its caller', async () => {
  const broken = agent({ name: 'Broken' }, async (turn) => turn.fail('The cellar is flooded'))
  const url = await served(broken)
  const errors: unknown[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => {
    const { text } = await turn.call(url, 'go').catch((error) => {
      errors.push(error)
      throw error
    })
    return text
  })
  const { text, task } = await (await connect(await served(planner))).send('go')
  expect(errors).toMatchObject([
    { name: 'CallFailed', agent: 'Broken', state: 'failed', message: expect.stringContaining('flooded') },
  ])
  expect(task?.status.state).toBe('failed')
  expect(text).toBe('The agent "Broken", which was asked for help, gave no answer (failed).')
})

describe('several calls at once', () => {
  /** Answers when it is told to, and tells who is at work. */
  function crew(names: readonly string[]) {
    const atWork = new Set<string>()
    const canceled: string[] = []
    const gates = new Map(names.map((name) => [name, deferred<string>()]))
    let most = 0
    const agents = names.map((name) =>
      agent({ name }, async (turn) => {
        atWork.add(name)
        most = Math.max(most, atWork.size)
        await turn.status('working', 'At work')
        const aborted = new Promise<string>((resolve) => turn.signal.addEventListener('abort', () => resolve('')))
        const text = await Promise.race([gates.get(name)?.promise ?? '', aborted])
        atWork.delete(name)
        if (turn.signal.aborted) canceled.push(name)
        if (text === 'fail') return await turn.fail(`${name} is tired`)
        return text
      }),
    )
    const calls = agents.map((each): CallSpec => [each, 'go'])
    return {
      calls,
      atWork,
      canceled,
      finish: (name: string, text: string) => gates.get(name)?.resolve(text),
      most: () => most,
    }
  }

  it('are made within a limit, and all answers and failures are given in their order', async () => {
    const { calls, finish, most, atWork } = crew(['A', 'B', 'C', 'D'])
    const planner = agent({ name: 'Planner' }, async (turn) => {
      const all = await turn.callAll(calls, { concurrency: 2 })
      return all.map((each) => (each.ok ? each.answer.text : `${each.error.agent} ${each.error.state}`)).join()
    })
    const reply = (await connect(planner)).send('go')
    await until(() => atWork.size === 2)
    expect([...atWork]).toEqual(['A', 'B'])
    finish('B', 'b')
    await until(() => atWork.has('C'))
    finish('C', 'fail')
    await until(() => atWork.has('D'))
    finish('D', 'd')
    finish('A', 'a')
    expect((await reply).text).toBe('a,b,C failed,d')
    expect(most()).toBe(2)
  })

  it('give the first answer, and the others are canceled', async () => {
    const { calls, finish, canceled, atWork } = crew(['A', 'B', 'C'])
    const planner = agent({ name: 'Planner' }, async (turn) => {
      const { agent: by, text } = await turn.callFirst(calls)
      await until(() => canceled.length === 1)
      return `${by}: ${text}`
    })
    const reply = (await connect(planner)).send('go')
    await until(() => atWork.size === 3)
    finish('A', 'fail')
    finish('C', 'c')
    expect((await reply).text).toBe('C: c')
    expect(canceled).toEqual(['B'])
  })

  it('fail together when nobody answers, with the reasons of all', async () => {
    const { calls, finish } = crew(['A', 'B'])
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

it('gives up what it has not waited for when it ends', async () => {
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

it('takes the headers of a call along, such as those of a trace', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => turn.text)
  const seen: (string | null)[][] = []
  const noting = {
    fetch(request: Request) {
      if (request.method === 'POST') seen.push(['traceparent', 'x-own'].map((name) => request.headers.get(name)))
      return echo.fetch(request)
    },
  }
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const planner = createHandler(
    agent({ name: 'Planner' }, async (turn) => (await turn.call(noting, 'hi', { headers: { 'x-own': 'x' } })).text),
    {
      auth: 'none',
      calls: { headers: ({ agent: name }) => (name === 'Echo' ? { traceparent } : undefined) },
      logger: silentLogger,
    },
  )
  expect((await (await connect(planner)).send('go')).text).toBe('hi')
  expect(seen).toEqual([[traceparent, 'x']])
})

it('says what is wrong with whom it cannot ask', async () => {
  const failures: unknown[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => {
    for (const target of ['http://127.0.0.1:9/', 'no address', { name: 'no card' }]) {
      await turn.call(target, 'go').catch((error) => failures.push(error))
    }
  })
  await (await connect(planner)).send('go')
  expect(failures).toMatchObject([
    { name: 'CallFailed', agent: 'http://127.0.0.1:9/', code: 'unavailable' },
    { name: 'CallFailed', code: 'invalid-params', message: expect.stringContaining('is no address of an agent') },
    { name: 'CallFailed', agent: 'no card' },
  ])
})
