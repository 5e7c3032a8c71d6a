import { expect, it } from 'vitest'
import { collect, until } from '../support/house.ts'
import { count, profile } from '../support/interop-agent.ts'
import { failureOf, type Peer, type PeerEvent, taskOf } from '../support/peer.ts'
import { served } from '../support/served.ts'

export interface PeerContract {
  /** Finds its way from the origin of a server, with the card where it looks for it, or else where it is told to look. */
  readonly connect: (origin: string, cardPath?: string) => Promise<Peer>
  /** Whether an event says that it is the last one, as before 1.0. */
  readonly hasFinal: boolean
  /** What following a task that has ended comes to. */
  readonly followedTooLate: 'the task' | 'UnsupportedOperationError'
  /** Whether it can ask for an extended card. */
  readonly hasExtendedCard?: boolean
  readonly grpc?: boolean
}

/** What holds for every client of every SDK on every binding. */
export function peerContract(contract: PeerContract): void {
  const { connect, hasFinal, followedTooLate, hasExtendedCard = true, grpc = false } = contract
  const final = hasFinal ? ', final' : ''

  async function open(cardPath?: string): Promise<Peer> {
    const { server } = await served(count, { profile, grpc })
    return await connect(server.url, cardPath)
  }

  /** A task that runs until it is canceled. */
  async function begin(peer: Peer): Promise<string> {
    const { id } = taskOf(await peer.send('wait', { blocking: false }))
    await until(async () => (await peer.get(id)).state === 'working')
    return id
  }

  it.each([undefined, '.well-known/agent-card.json', '.well-known/agent.json'])(
    'finds its way by the card at %s',
    async (cardPath) => {
      const peer = await open(cardPath)
      expect(await peer.card()).toMatchObject(profile)
      expect(await peer.send('hello')).toEqual({ message: 'hi' })
    },
  )

  it('gets a task when it has ended, and the same task again later', async () => {
    const peer = await open()
    const task = taskOf(await peer.send('count'))
    expect(task).toMatchObject({ state: 'completed', artifacts: [['one', 'two', 'three']] })
    expect(await peer.get(task.id)).toEqual(task)
  })

  it('does not wait for the end if it says so', async () => {
    const peer = await open()
    const { id, state } = taskOf(await peer.send('wait', { blocking: false }))
    expect(state).toMatch(/^(submitted|working)$/)
    await peer.cancel(id)
  })

  it('reads every event of a stream in its order, until it ends', async () => {
    const events = await collect((await open()).stream('count'))
    expect(wordsOf(events)).toEqual([
      'task working',
      'artifact one',
      'artifact two, more',
      'artifact three, more',
      'artifact , more, last',
      `status completed: Counted${final}`,
    ])
    expect(new Set(events.map(({ taskId }) => taskId)).size).toBe(1)
  })

  it('reads a stream that is one message', async () => {
    expect(wordsOf(await collect((await open()).stream('hello')))).toEqual(['message: hi'])
  })

  it('is asked, and answers', async () => {
    const peer = await open()
    const { id, state } = taskOf(await peer.send('ask'))
    expect(state).toBe('input-required')
    expect(taskOf(await peer.send('three', { taskId: id }))).toMatchObject({ id, state: 'completed' })
  })

  it('is asked in a stream, which ends with the question, and answers in another', async () => {
    const peer = await open()
    const asked = await collect(peer.stream('ask'))
    expect(wordsOf(asked)).toEqual(['task working', `status input-required: Up to what?${final}`])
    const answered = await collect(peer.stream('three', { taskId: `${asked[0]?.taskId}` }))
    expect(answered.at(-1)).toEqual({ taskId: asked[0]?.taskId, words: `status completed: Counted${final}` })
  })

  it('gets as much of the history as it wants', async () => {
    const peer = await open()
    const { id } = taskOf(await peer.send('ask'))
    await peer.send('three', { taskId: id })
    const whole = ['ask', 'Counting', 'Up to what?', 'three', 'Counting']
    expect((await peer.get(id)).history).toEqual(whole)
    expect((await peer.get(id, 2)).history).toEqual(whole.slice(-2))
    expect((await peer.get(id, 0)).history).toEqual([])
  })

  it('cancels a task that runs, and none that has ended', async () => {
    const peer = await open()
    const id = await begin(peer)
    expect(await peer.cancel(id)).toMatchObject({ id, state: 'canceled' })
    expect(await failureOf(() => peer.cancel(id))).toBe('TaskNotCancelableError')
  })

  it('follows a task that runs until it ends', async () => {
    const peer = await open()
    const id = await begin(peer)
    const events = peer.subscribe(id)
    expect((await events.next()).value).toEqual({ taskId: id, words: 'task working' })
    await peer.cancel(id)
    expect(wordsOf(await collect(events))).toEqual([`status canceled${final}`])
  })

  it('leaves a stream without harm to the task', async () => {
    const peer = await open()
    const events = peer.stream('wait')
    const { value: first } = await events.next()
    await events.return(undefined)
    expect(await peer.get(`${first?.taskId}`)).toMatchObject({ state: 'working' })
  })

  it(`gets ${followedTooLate} when it follows a task that has ended`, async () => {
    const peer = await open()
    const { id } = taskOf(await peer.send('count'))
    if (followedTooLate === 'the task') {
      expect(await collect(peer.subscribe(id))).toEqual([{ taskId: id, words: 'task completed' }])
    } else {
      expect(await failureOf(() => collect(peer.subscribe(id)))).toBe(followedTooLate)
    }
  })

  it('understands that a task has ended', async () => {
    const peer = await open()
    const { id } = taskOf(await peer.send('count'))
    expect(await failureOf(() => peer.send('more', { taskId: id }))).toBe('UnsupportedOperationError')
  })

  it('understands that there is no such task', async () => {
    const peer = await open()
    const taskId = 'nobody-knows'
    expect(await failureOf(() => peer.get(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => peer.cancel(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(peer.subscribe(taskId)))).toBe('TaskNotFoundError')
    expect(await failureOf(() => peer.send('more', { taskId }))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(peer.stream('more', { taskId })))).toBe('TaskNotFoundError')
  })

  it('understands that there is no push', async () => {
    const peer = await open()
    const { id } = taskOf(await peer.send('count'))
    const failures: Record<string, string> = {}
    for (const [name, attempt] of Object.entries(peer.push)) failures[name] = await failureOf(() => attempt(id))
    const expected = Object.keys(peer.push).map((name) => [name, 'PushNotificationNotSupportedError'])
    expect(failures).toEqual(Object.fromEntries(expected))
  })

  it.runIf(hasExtendedCard)('understands that there is no extended card', async () => {
    const peer = await open()
    expect(await failureOf(async () => peer.extendedCard?.())).toBe('UnsupportedOperationError')
  })
}

function wordsOf(events: readonly PeerEvent[]): string[] {
  return events.map(({ words }) => words)
}
