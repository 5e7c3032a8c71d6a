import { expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey, newApiKey } from '../../src/auth/index.ts'
import { apiKey as ownKey } from '../../src/client/credentials/index.ts'
import { connect } from '../../src/client/index.ts'
import type { LocalAgent } from '../../src/index.ts'
import { agent, type ServeOptions, serve } from '../../src/index.ts'
import { lineageExtension } from '../../src/protocol/lineage.ts'
import type { Message, Task } from '../../src/protocol/model.ts'
import { collect, gate, quiet, until } from '../support/house.ts'
import { temporaryDirectory } from '../support/temporary.ts'

async function served(made: LocalAgent, options: ServeOptions = {}): Promise<string> {
  const directory = await temporaryDirectory()
  const common = { port: 0, signals: false, directory, logger: quiet, drainDeadline: 0, cancelGrace: 50 }
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
  const reached = gate()
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
