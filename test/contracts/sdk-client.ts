import { expect, it } from 'vitest'
import { count, profile } from '../support/agents/interop-agent.ts'
import { collect, until } from '../support/async.ts'
import { failureOf, type SdkClient, type SdkEvent, taskOf } from '../support/sdk/sdk-client.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

/** How to connect a client of an SDK, and which features it supports. */
export interface SdkClientTraits {
  /** Connects to the origin of a server by the card at its default path, or at `cardPath`. */
  readonly connect: (origin: string, cardPath?: string) => Promise<SdkClient>
  /** Whether the last event is marked as final, as before 1.0. */
  readonly hasFinal: boolean
  /** The result of a subscription to an ended task. */
  readonly lateSubscription: 'the task' | 'UnsupportedOperationError'
  /** Whether the client reports `append` of a chunk. Since 0.3.8, its reader of the 0.3 proto loses it. */
  readonly hasAppend?: boolean
  /** Whether the client can request no history: in 0.3 gRPC, a length of 0 equals an unset one. */
  readonly hasNoHistory?: boolean
  /** Whether the client can list tasks, as since 1.0. */
  readonly hasList?: boolean
  /** Whether the client can request an extended card. */
  readonly hasExtendedCard?: boolean
  /** Whether the request for the extended card returns the public one if there is no other, as in 0.3 gRPC. */
  readonly getsPublicCard?: boolean
  /** The error that the client reports for a message to an ended task. */
  readonly endedTaskError?: string
  readonly serverOptions?: TestServerOptions
}

/** The behaviour of the clients of every SDK, on every binding, with our server. */
export function sdkClientContract(traits: SdkClientTraits): void {
  messagesContract(traits)
  subscriptionsContract(traits)
  errorsContract(traits)
}

function messagesContract(traits: SdkClientTraits): void {
  const { hasAppend = true, hasNoHistory = true, hasList = false } = traits
  const final = finalOf(traits)
  const more = hasAppend ? ', more' : ''

  it.each([undefined, '.well-known/agent-card.json', '.well-known/agent.json'])(
    'the client connects by the card at %s',
    async (cardPath) => {
      const client = await open(traits, cardPath)
      expect(await client.card()).toMatchObject(profile)
      expect(await client.send('hello')).toEqual({ message: 'hi' })
    },
  )

  it('the client gets the completed task, and can read it again', async () => {
    const client = await open(traits)
    const task = taskOf(await client.send('count'))
    expect(task).toMatchObject({ state: 'completed', artifacts: [['onetwothree']] })
    expect(await client.get(task.id)).toEqual(task)
  })

  it('a non-blocking send does not wait for the result', async () => {
    const client = await open(traits)
    const { id, state } = taskOf(await client.send('wait', { blocking: false }))
    expect(state).toMatch(/^(submitted|working)$/)
    await client.cancel(id)
  })

  it('the client reads all events of a stream in order', async () => {
    const events = await collect((await open(traits)).stream('count'))
    expect(textsOf(events)).toEqual([
      'task submitted',
      'status working: Counting',
      'artifact one',
      `artifact two${more}`,
      `artifact three${more}, last`,
      `status completed: Counted${final}`,
    ])
    expect(new Set(events.map(({ taskId }) => taskId)).size).toBe(1)
  })

  it('the client reads a stream of one message', async () => {
    expect(textsOf(await collect((await open(traits)).stream('hello')))).toEqual(['message: hi'])
  })

  it('the client answers a question', async () => {
    const client = await open(traits)
    const { id, state } = taskOf(await client.send('ask'))
    expect(state).toBe('input-required')
    expect(taskOf(await client.send('three', { taskId: id }))).toMatchObject({ id, state: 'completed' })
  })

  it('a stream ends with a question, and the client answers in another stream', async () => {
    const client = await open(traits)
    const question = await collect(client.stream('ask'))
    expect(textsOf(question)).toEqual([
      'task submitted',
      'status working: Counting',
      `status input-required: Up to what?${final}`,
    ])
    const answer = await collect(client.stream('three', { taskId: `${question[0]?.taskId}` }))
    expect(answer.at(-1)).toEqual({ taskId: question[0]?.taskId, words: `status completed: Counted${final}` })
  })

  it('the client gets the requested length of history', async () => {
    const client = await open(traits)
    const { id } = taskOf(await client.send('ask'))
    await client.send('three', { taskId: id })
    const history = ['ask', 'Counting', 'Up to what?', 'three', 'Counting']
    expect((await client.get(id)).history).toEqual(history)
    expect((await client.get(id, 2)).history).toEqual(history.slice(-2))
    expect((await client.get(id, 0)).history).toEqual(hasNoHistory ? [] : history)
  })

  if (hasList) {
    it('the client lists tasks page by page, newest first', async () => {
      const client = await open(traits)
      const sent: string[] = []
      for (let n = 0; n < 3; n++) sent.unshift(taskOf(await client.send('count')).id)
      const listed: string[] = []
      let nextPageToken: string | undefined
      do {
        const page = await client.list?.(2, nextPageToken)
        listed.push(...(page?.ids ?? []))
        nextPageToken = page?.nextPageToken
      } while (nextPageToken)
      expect(listed).toEqual(sent)
    })
  }
}

function subscriptionsContract(traits: SdkClientTraits): void {
  const { lateSubscription } = traits
  const final = finalOf(traits)

  it('the client can cancel a running task, but not an ended one', async () => {
    const client = await open(traits)
    const id = await startTask(client)
    expect(await client.cancel(id)).toMatchObject({ id, state: 'canceled' })
    expect(await failureOf(() => client.cancel(id))).toBe('TaskNotCancelableError')
  })

  it('the client follows a running task until it ends', async () => {
    const client = await open(traits)
    const id = await startTask(client)
    const events = client.subscribe(id)
    expect((await events.next()).value).toEqual({ taskId: id, words: 'task working' })
    await client.cancel(id)
    expect(textsOf(await collect(events))).toEqual([`status canceled${final}`])
  })

  it('closing a stream does not affect the task', async () => {
    const client = await open(traits)
    const events = client.stream('wait')
    const { value: first } = await events.next()
    await events.return(undefined)
    expect(await client.get(`${first?.taskId}`)).toMatchObject({ state: 'working' })
  })

  it(`a subscription to an ended task gives ${lateSubscription}`, async () => {
    const client = await open(traits)
    const { id } = taskOf(await client.send('count'))
    if (lateSubscription === 'the task') {
      expect(await collect(client.subscribe(id))).toEqual([{ taskId: id, words: 'task completed' }])
    } else {
      expect(await failureOf(() => collect(client.subscribe(id)))).toBe(lateSubscription)
    }
  })
}

function errorsContract(traits: SdkClientTraits): void {
  const { hasExtendedCard = true, getsPublicCard = false, endedTaskError = 'UnsupportedOperationError' } = traits

  it('the client recognises the error of an ended task', async () => {
    const client = await open(traits)
    const { id } = taskOf(await client.send('count'))
    expect(await failureOf(() => client.send('more', { taskId: id }))).toContain(endedTaskError)
  })

  it('the client recognises the error of an unknown task', async () => {
    const client = await open(traits)
    const taskId = 'unknown-task'
    expect(await failureOf(() => client.get(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => client.cancel(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(client.subscribe(taskId)))).toBe('TaskNotFoundError')
    expect(await failureOf(() => client.send('more', { taskId }))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(client.stream('more', { taskId })))).toBe('TaskNotFoundError')
  })

  it('the client recognises that push is not supported', async () => {
    const client = await open(traits)
    const { id } = taskOf(await client.send('count'))
    const failures: Record<string, string> = {}
    for (const [name, attempt] of Object.entries(client.push)) failures[name] = await failureOf(() => attempt(id))
    const expected = Object.keys(client.push).map((name) => [name, 'PushNotificationNotSupportedError'])
    expect(failures).toEqual(Object.fromEntries(expected))
  })

  if (hasExtendedCard) {
    it('the client gets the public card, or an error, if there is no extended card', async () => {
      const client = await open(traits)
      if (getsPublicCard) expect(await client.extendedCard?.()).toMatchObject({ name: profile.name })
      else expect(await failureOf(async () => client.extendedCard?.())).toBe('UnsupportedOperationError')
    })
  }
}

/** Starts a server and connects a client to it. */
async function open({ connect, serverOptions }: SdkClientTraits, cardPath?: string): Promise<SdkClient> {
  const { server } = await startTestServer(count, { profile, ...serverOptions })
  return await connect(server.url, cardPath)
}

/** Starts a task that runs until it is canceled. */
async function startTask(client: SdkClient): Promise<string> {
  const { id } = taskOf(await client.send('wait', { blocking: false }))
  await until(async () => (await client.get(id)).state === 'working')
  return id
}

/** The text that marks the last event of a stream. */
function finalOf({ hasFinal }: SdkClientTraits): string {
  return hasFinal ? ', final' : ''
}

function textsOf(events: readonly SdkEvent[]): string[] {
  return events.map(({ words }) => words)
}
