import assert from 'node:assert/strict'
import type { Client } from '../../../src/core/client/client.ts'
import type { ClientEvent } from '../../../src/core/client/events.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import { type Part, textOf } from '../../../src/core/protocol/model.ts'
import { isEnded } from '../../../src/core/protocol/states.ts'

const allBytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)

/** Bytes that are a base64 text themselves. */
const base64Text = new TextEncoder().encode('aGVsbG8gd29ybGQh')

/** Milliseconds in which an operation that an agent lacks must fail. */
const promptly = 5_000

/** What our client does with the agent of another implementation. Throws if the agent answers anything else. */
export const clientChecks: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  async card(client) {
    assert.equal(client.card.name, 'Interop')
  },
  async text(client) {
    // Strands ends every text with a line break.
    assert.equal((await client.send('echo grüße')).text?.trimEnd(), 'grüße')
  },
  async files(client) {
    for (const content of [allBytes, base64Text]) {
      const reply = await client.send([
        { text: 'file' },
        { name: 'a.bin', mediaType: 'application/octet-stream', content },
      ])
      assert.deepEqual(reply.output.files[0]?.bytes, content)
    }
  },
  async streaming(client) {
    let text = ''
    for await (const event of client.stream('stream')) {
      if (event.type === 'artifact') text += partsText(event.artifact.parts)
    }
    assert.equal(text, 'onetwothree')
  },
  /** For agents of frameworks, which only repeat the message. */
  async streamed(client) {
    let text = ''
    for await (const event of client.stream('echo grüße')) text += textIn(event)
    assert.ok(text.includes('grüße'), `expected the text in one of the events, got ${text}`)
  },
  async question(client) {
    const conversation = client.conversation()
    const { task } = await conversation.send('ask')
    assert.equal(task?.status.state, 'input-required')
    assert.equal(task.status.message && textOf(task.status.message), 'Which colour?')
    assert.equal((await conversation.send('green')).text, 'You chose green.')
  },
  async cancel(client) {
    const { task } = await client.send('wait', { returnImmediately: true })
    assert.ok(task && !isEnded(task.status.state))
    assert.equal((await client.task(task.id).cancel()).status.state, 'canceled')
  },
  /** A stream, and a subscription beside it, end when the task is canceled. */
  async subscription(client) {
    const states: string[] = []
    for await (const event of client.stream('wait')) {
      if (event.type === 'status') states.push(event.status.state)
      if (event.type !== 'task') continue
      const { id } = event.task
      const first = await client.task(id).subscribe().next()
      assert.equal(first.value?.type, 'task')
      await client.task(id).cancel()
    }
    assert.equal(states.at(-1), 'canceled')
  },
  /** A task that has ended can be waited for and subscribed to. */
  async ended(client) {
    const { task } = await client.send('stream')
    assert.ok(task)
    const handle = client.task(task.id)
    assert.equal((await handle.wait()).task?.status.state, 'completed')
    const events = []
    for await (const event of handle.subscribe()) events.push(event.type === 'task' && event.task.status.state)
    assert.deepEqual(events, ['completed'])
  },
  async errors(client) {
    const handle = client.task('no-such-task')
    for (const operation of [() => handle.get(), () => handle.cancel(), () => handle.subscribe().next()]) {
      assert.equal((await errorOf(operation())).code, 'task-not-found')
    }
  },
  /** Every other operation works, or fails at once with a code that says why. */
  async operations(client) {
    const { task } = await client.send('ask')
    assert.ok(task)
    const { push } = client.task(task.id)
    const config = { id: 'p', url: 'https://example.com/hook', token: 't' }
    await worksOrIsMissing('list', async () => assert.ok((await client.listTasks().next()).value))
    await worksOrIsMissing('push', async () => {
      assert.equal((await push.create(config)).url, config.url)
      await worksOrIsMissing('push.get', async () => assert.equal((await push.get('p')).url, config.url))
      await worksOrIsMissing('push.list', async () => assert.equal((await push.list().next()).value?.url, config.url))
      await worksOrIsMissing('push.delete', () => push.delete('p'))
    })
    await worksOrIsMissing('extended card', async () => assert.ok((await client.extendedCard()).name))
  },
}

/** The checks of agents that answer each message as the test agent does. */
export const standardChecks: readonly string[] = Object.keys(clientChecks).filter((name) => name !== 'streamed')

/** The checks of an agent of a framework whose function repeats the message. */
export const frameworkChecks: readonly string[] = ['card', 'text', 'streamed', 'ended', 'errors', 'operations']

function textIn(event: ClientEvent): string {
  switch (event.type) {
    case 'message':
      return textOf(event.message)
    case 'artifact':
      return partsText(event.artifact.parts)
    case 'status':
      return event.status.message?.role === 'agent' ? textOf(event.status.message) : ''
    case 'task':
      return event.task.artifacts.map(({ parts }) => partsText(parts)).join('')
  }
}

function partsText(parts: readonly Part[]): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

const missingCodes: ReadonlySet<string> = new Set([
  'unsupported-operation',
  'push-not-supported',
  'extended-card-not-configured',
  // The server for Go lists tasks only for callers that it knows.
  'unauthenticated',
])

async function worksOrIsMissing(name: string, operation: () => Promise<void>): Promise<void> {
  const start = Date.now()
  try {
    await operation()
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    const isItsFailure = error.code === 'internal' && error.message.includes('HTTP status 500')
    if (!missingCodes.has(error.code) && !isItsFailure)
      throw new Error(`${name}: ${error.code}: ${error.message}`, { cause: error })
  }
  if (Date.now() - start > promptly) throw new Error(`${name}: took ${Date.now() - start} ms`)
}

async function errorOf(operation: Promise<unknown>): Promise<A2AError> {
  const error = await operation.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  assert.ok(error instanceof A2AError, `expected an A2AError, got ${String(error)}`)
  return error
}
