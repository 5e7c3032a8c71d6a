import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, connect } from '../../../src/entries/client.node.ts'
import { agent, type Turn } from '../../../src/entries/index.ts'

/** A call with a misspelled option, as JavaScript can write it, and the error that names the nearest one. */
type Misspelled<T> = readonly [call: (target: T) => unknown, error: string]

const echo = agent({ name: 'Echo' }, ({ text }) => text)

const turnCalls: readonly Misspelled<Turn>[] = [
  [
    (turn) => turn.call(echo, 'hi', { timout: 1 } as never),
    'turn.call(): timout is not an option. Did you mean timeout?',
  ],
  [
    (turn) => turn.call(echo, 'hi', { relay: 'al' } as never),
    'turn.call(): relay: expected one of "status", "all", "none", got "al". Did you mean "all"?',
  ],
  [
    (turn) => turn.callAll([[echo, 'hi']], { concurency: 1 } as never),
    'turn.callAll(): concurency is not an option. Did you mean concurrency?',
  ],
  [
    (turn) => turn.callAll([[echo, 'hi', { skil: 'a' } as never]]),
    'turn.call(): skil is not an option. Did you mean skill?',
  ],
  [
    (turn) => turn.callFirst([[echo, 'hi']], { header: {} } as never),
    'turn.callFirst(): header is not an option. Did you mean headers?',
  ],
  [
    (turn) => turn.ask('Which?', { expiresAfter: 1 } as never),
    'turn.ask(): expiresAfter is not an option. Did you mean expiresAt?',
  ],
  [
    (turn) => turn.ask('Which?', { onTimeout: 'continu' } as never),
    'turn.ask(): onTimeout: expected one of "fail", "continue", got "continu". Did you mean "continue"?',
  ],
  [
    (turn) => turn.ask([{ question: 'Which?' }, { question: 'Why?', sensitiv: true } as never]),
    'turn.ask(): sensitiv is not an option. Did you mean sensitive?',
  ],
  [
    (turn) => turn.artifact('a.txt', { mediatype: 'text/plain' } as never),
    'turn.artifact(): mediatype is not an option. Did you mean mediaType?',
  ],
  [
    (turn) => turn.data(1, 'a.json', { describtion: '' } as never),
    'turn.artifact(): describtion is not an option. Did you mean description?',
  ],
  [
    (turn) => turn.file({ name: 'a.txt', content: 'a' }, { extension: [] } as never),
    'turn.artifact(): extension is not an option. Did you mean extensions?',
  ],
  [
    (turn) => turn.artifact('a.txt').write('a', { metdata: {} } as never),
    'artifact.write(): metdata is not an option. Did you mean metadata?',
  ],
  [
    (turn) => turn.artifact('a.txt').close('a', { metdata: {} } as never),
    'artifact.write(): metdata is not an option. Did you mean metadata?',
  ],
  [
    (turn) => turn.answer.write('a', { metdata: {} } as never),
    'artifact.write(): metdata is not an option. Did you mean metadata?',
  ],
  [
    (turn) => turn.status('working', 'Reading', { metdata: {} } as never),
    'turn.status(): metdata is not an option. Did you mean metadata?',
  ],
  [
    (turn) => turn.requireAuth('github', { outofBand: () => '' } as never),
    'turn.requireAuth(): outofBand is not an option. Did you mean outOfBand?',
  ],
  [
    (turn) => turn.requireAuth({ scheme: 'github', scope: [] } as never),
    'turn.requireAuth(): scope is not an option. Did you mean scopes?',
  ],
]

const clientCalls: readonly Misspelled<Client>[] = [
  [
    (client) => client.send('hi', { timout: 1 } as never),
    'client.send: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.send('hi', { returnImmediately: 'yes' } as never),
    'client.send: returnImmediately: expected true or false, got "yes".',
  ],
  [(client) => client.send('hi', 'fast' as never), 'client.send: expected an object of options, got "fast".'],
  [
    (client) => client.stream('hi', { contextID: 'a' } as never),
    'client.stream: contextID is not an option. Did you mean contextId?',
  ],
  [
    (client) => client.skill('a', 'hi', { header: {} } as never),
    'client.skill: header is not an option. Did you mean headers?',
  ],
  [
    (client) => client.listTasks({ sate: 'working' } as never),
    'client.listTasks: sate is not an option. Did you mean state?',
  ],
  [
    (client) => client.listTasks({}, { singal: undefined, timout: 1 } as never),
    'client.listTasks: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.extendedCard({ timout: 1 } as never),
    'client.extendedCard: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.conversation({ taksId: 'a' } as never),
    'client.conversation: taksId is not an option. Did you mean taskId?',
  ],
  [
    (client) => client.conversation().send('hi', { skil: 'a' } as never),
    'conversation.send: skil is not an option. Did you mean skill?',
  ],
  [
    (client) => client.conversation().stream('hi', { skil: 'a' } as never),
    'conversation.stream: skil is not an option. Did you mean skill?',
  ],
  [
    (client) => client.task('a').get({ historyLenght: 1 } as never),
    'client.task.get: historyLenght is not an option. Did you mean historyLength?',
  ],
  [
    (client) => client.task('a').wait({ timout: 1 } as never),
    'client.task.wait: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.task('a').subscribe({ timout: 1 } as never),
    'client.task.subscribe: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.task('a').cancel({ timout: 1 } as never),
    'client.task.cancel: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.task('a').artifacts({ timout: 1 } as never),
    'client.task.artifacts: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.task('a').push.create({ url: 'https://a.example' }, { timout: 1 } as never),
    'client.task.push.create: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.task('a').push.get('b', { timout: 1 } as never),
    'client.task.push.get: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.task('a').push.list({ timout: 1 } as never),
    'client.task.push.list: timout is not an option. Did you mean timeout?',
  ],
  [
    (client) => client.task('a').push.delete('b', { timout: 1 } as never),
    'client.task.push.delete: timout is not an option. Did you mean timeout?',
  ],
]

describe('options of the methods of a turn', () => {
  /** By the number of the call. */
  let errors: readonly string[]

  beforeAll(async () => {
    const misspelling = agent({ name: 'Misspelling' }, async (turn) => {
      const messages: string[] = []
      for (const [call] of turnCalls) messages.push(await errorOf(() => call(turn)))
      await turn.data(messages, 'errors.json')
    })
    const client = await connect(misspelling)
    const { artifacts } = await client.send('go')
    errors = artifacts.find(({ name }) => name === 'errors.json')?.data[0] as readonly string[]
  })

  it.each(turnCalls.map(([, error], index) => [error, index] as const))('%s', (error, index) => {
    expect(errors[index]).toBe(`TypeError: ${error}`)
  })
})

describe('options of the methods of a client', () => {
  it.each(clientCalls.map(([call, error]) => [error, call] as const))('%s', async (error, call) => {
    const client = await connect(echo)
    expect(await errorOf(() => call(client))).toBe(`TypeError: ${error}`)
  })

  it('valid options are accepted, and undefined ones are not looked at', async () => {
    const client = await connect(echo)
    const { signal } = new AbortController()
    const options = { signal, timeout: 5_000, headers: {}, skill: undefined, unknown: undefined }
    expect((await client.send('hi', options)).text).toBe('hi')
    const conversation = client.conversation()
    expect((await conversation.send('hi', options)).text).toBe('hi')
    expect(conversation.contextId).toBeTypeOf('string')
    expect(
      await client
        .task('unknown')
        .get()
        .catch(({ code }) => code),
    ).toBe('task-not-found')
  })
})

async function errorOf(call: () => unknown): Promise<string> {
  try {
    const result = call()
    await (result instanceof Promise ? result : undefined)
    return 'no error'
  } catch (error) {
    return String(error)
  }
}
