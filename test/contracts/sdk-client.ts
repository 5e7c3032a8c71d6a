import { expect, it } from 'vitest'
import { count, profile } from '../support/agents/interop-agent.ts'
import { collect, until } from '../support/async.ts'
import { failureOf, type SdkClient, type SdkEvent, taskOf } from '../support/sdk/sdk-client.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

/** What there is to know of a client before it is tried. */
export interface SdkClientTraits {
  /** Finds its way from the origin of a server, by the card where it looks for one, or where it is told to look. */
  readonly connect: (origin: string, cardPath?: string) => Promise<SdkClient>
  /** Whether an event says that it is the last one, as before 1.0. */
  readonly hasFinal: boolean
  /** What following a task that has ended comes to. */
  readonly lateSubscription: 'the task' | 'UnsupportedOperationError'
  /** Whether it tells its user that a chunk continues another. From 0.3.8 on, what reads the proto of 0.3 forgets it. */
  readonly hasAppend?: boolean
  /** Whether it can ask for no history at all: in the gRPC of 0.3, none is the same as nothing said. */
  readonly hasNoHistory?: boolean
  /** Whether it can list tasks, as since 1.0. */
  readonly hasList?: boolean
  /** Whether it can ask for an extended card. */
  readonly hasExtendedCard?: boolean
  /** What it understands when it writes to a task that has ended. */
  readonly endedTaskError?: string
  readonly serverOptions?: TestServerOptions
}

/** The behaviour of the clients of every SDK, on every binding, with our server. */
export function sdkClientContract(contract: SdkClientTraits): void {
  messagesContract(contract)
  subscriptionsContract(contract)
  errorsContract(contract)
}

/** How a client finds an agent, writes to it and reads what it says. */
function messagesContract(contract: SdkClientTraits): void {
  const { hasAppend = true, hasNoHistory = true, hasList = false } = contract
  const final = finalOf(contract)
  const more = hasAppend ? ', more' : ''

  it.each([undefined, '.well-known/agent-card.json', '.well-known/agent.json'])(
    'finds its way by the card at %s',
    async (cardPath) => {
      const peer = await open(contract, cardPath)
      expect(await peer.card()).toMatchObject(profile)
      expect(await peer.send('hello')).toEqual({ message: 'hi' })
    },
  )

  it('gets a task when it has ended, and the same task again later', async () => {
    const peer = await open(contract)
    const task = taskOf(await peer.send('count'))
    expect(task).toMatchObject({ state: 'completed', artifacts: [['one', 'two', 'three']] })
    expect(await peer.get(task.id)).toEqual(task)
  })

  it('does not wait for the end if it says so', async () => {
    const peer = await open(contract)
    const { id, state } = taskOf(await peer.send('wait', { blocking: false }))
    expect(state).toMatch(/^(submitted|working)$/)
    await peer.cancel(id)
  })

  it('reads every event of a stream in its order, until it ends', async () => {
    const events = await collect((await open(contract)).stream('count'))
    expect(wordsOf(events)).toEqual([
      'task working',
      'artifact one',
      `artifact two${more}`,
      `artifact three${more}`,
      `artifact ${more}, last`,
      `status completed: Counted${final}`,
    ])
    expect(new Set(events.map(({ taskId }) => taskId)).size).toBe(1)
  })

  it('reads a stream that is one message', async () => {
    expect(wordsOf(await collect((await open(contract)).stream('hello')))).toEqual(['message: hi'])
  })

  it('is asked, and answers', async () => {
    const peer = await open(contract)
    const { id, state } = taskOf(await peer.send('ask'))
    expect(state).toBe('input-required')
    expect(taskOf(await peer.send('three', { taskId: id }))).toMatchObject({ id, state: 'completed' })
  })

  it('is asked in a stream, which ends with the question, and answers in another', async () => {
    const peer = await open(contract)
    const asked = await collect(peer.stream('ask'))
    expect(wordsOf(asked)).toEqual(['task working', `status input-required: Up to what?${final}`])
    const answered = await collect(peer.stream('three', { taskId: `${asked[0]?.taskId}` }))
    expect(answered.at(-1)).toEqual({ taskId: asked[0]?.taskId, words: `status completed: Counted${final}` })
  })

  it('gets as much of the history as it wants', async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('ask'))
    await peer.send('three', { taskId: id })
    const whole = ['ask', 'Counting', 'Up to what?', 'three', 'Counting']
    expect((await peer.get(id)).history).toEqual(whole)
    expect((await peer.get(id, 2)).history).toEqual(whole.slice(-2))
    expect((await peer.get(id, 0)).history).toEqual(hasNoHistory ? [] : whole)
  })

  if (hasList) {
    it('lists tasks page by page, the latest first', async () => {
      const peer = await open(contract)
      const sent: string[] = []
      for (let n = 0; n < 3; n++) sent.unshift(taskOf(await peer.send('count')).id)
      const listed: string[] = []
      let nextPageToken: string | undefined
      do {
        const page = await peer.list?.(2, nextPageToken)
        listed.push(...(page?.ids ?? []))
        nextPageToken = page?.nextPageToken
      } while (nextPageToken)
      expect(listed).toEqual(sent)
    })
  }
}

/** How a client follows a task that takes its time, and stops it. */
function subscriptionsContract(contract: SdkClientTraits): void {
  const { lateSubscription } = contract
  const final = finalOf(contract)

  it('cancels a task that runs, and none that has ended', async () => {
    const peer = await open(contract)
    const id = await begin(peer)
    expect(await peer.cancel(id)).toMatchObject({ id, state: 'canceled' })
    expect(await failureOf(() => peer.cancel(id))).toBe('TaskNotCancelableError')
  })

  it('follows a task that runs until it ends', async () => {
    const peer = await open(contract)
    const id = await begin(peer)
    const events = peer.subscribe(id)
    expect((await events.next()).value).toEqual({ taskId: id, words: 'task working' })
    await peer.cancel(id)
    expect(wordsOf(await collect(events))).toEqual([`status canceled${final}`])
  })

  it('leaves a stream without harm to the task', async () => {
    const peer = await open(contract)
    const events = peer.stream('wait')
    const { value: first } = await events.next()
    await events.return(undefined)
    expect(await peer.get(`${first?.taskId}`)).toMatchObject({ state: 'working' })
  })

  it(`gets ${lateSubscription} when it follows a task that has ended`, async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('count'))
    if (lateSubscription === 'the task') {
      expect(await collect(peer.subscribe(id))).toEqual([{ taskId: id, words: 'task completed' }])
    } else {
      expect(await failureOf(() => collect(peer.subscribe(id)))).toBe(lateSubscription)
    }
  })
}

/** What a client understands of our errors. */
function errorsContract(contract: SdkClientTraits): void {
  const { hasExtendedCard = true, endedTaskError = 'UnsupportedOperationError' } = contract

  it('understands that a task has ended', async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('count'))
    expect(await failureOf(() => peer.send('more', { taskId: id }))).toContain(endedTaskError)
  })

  it('understands that there is no such task', async () => {
    const peer = await open(contract)
    const taskId = 'nobody-knows'
    expect(await failureOf(() => peer.get(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => peer.cancel(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(peer.subscribe(taskId)))).toBe('TaskNotFoundError')
    expect(await failureOf(() => peer.send('more', { taskId }))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(peer.stream('more', { taskId })))).toBe('TaskNotFoundError')
  })

  it('understands that there is no push', async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('count'))
    const failures: Record<string, string> = {}
    for (const [name, attempt] of Object.entries(peer.push)) failures[name] = await failureOf(() => attempt(id))
    const expected = Object.keys(peer.push).map((name) => [name, 'PushNotificationNotSupportedError'])
    expect(failures).toEqual(Object.fromEntries(expected))
  })

  if (hasExtendedCard) {
    it('understands that there is no extended card', async () => {
      const peer = await open(contract)
      expect(await failureOf(async () => peer.extendedCard?.())).toBe('UnsupportedOperationError')
    })
  }
}

/** A client of a server of its own. */
async function open({ connect, serverOptions }: SdkClientTraits, cardPath?: string): Promise<SdkClient> {
  const { server } = await startTestServer(count, { profile, ...serverOptions })
  return await connect(server.url, cardPath)
}

/** Begins a task that runs until it is canceled. */
async function begin(peer: SdkClient): Promise<string> {
  const { id } = taskOf(await peer.send('wait', { blocking: false }))
  await until(async () => (await peer.get(id)).state === 'working')
  return id
}

/** What the last event of a stream says beside its state. */
function finalOf({ hasFinal }: SdkClientTraits): string {
  return hasFinal ? ', final' : ''
}

function wordsOf(events: readonly SdkEvent[]): string[] {
  return events.map(({ words }) => words)
}
