import { expect, it } from 'vitest'
import { deferred } from '../../../test/support/async.ts'
import { createLocalHandler, fakePeer } from '../../../test/support/servers/local-handler.ts'
import { connect } from '../client/connect.ts'
import type { DialectName } from './versions.ts'

/** An agent of 0.3 behind this web server that writes two chunks, the second one when the test says so. */
function startAgent(server: string, dialect: DialectName) {
  const written = deferred()
  const handler = createLocalHandler(
    async (turn) => {
      const text = turn.artifact('text')
      await text.write('one ')
      await written.promise
      await text.write('two')
    },
    { dialects: [dialect] },
  )
  const peer = fakePeer(async (request) => {
    const response = await handler.fetch(request)
    const headers = new Headers(response.headers)
    headers.set('server', server)
    return new Response(response.body, { status: response.status, headers })
  })
  const subscriptions = async () => {
    const bodies = await Promise.all(peer.requests.map(async (request) => `${request.url} ${await request.text()}`))
    return bodies.filter((body) => /tasks\/resubscribe|:subscribe/.test(body)).length
  }
  return { peer, write: written.resolve, subscriptions }
}

const polling = { minDelay: 1, maxDelay: 5 }

it.each(['v0.3', 'v0.3-proto'] as const)(
  'a client polls a task of the Python SDK 0.3 that it waits for (%s)',
  async (dialect) => {
    const { peer, write, subscriptions } = startAgent('uvicorn', dialect)
    const client = await connect(peer, { dialects: [dialect], polling })
    const { task } = await client.send('go', { returnImmediately: true })
    const waiting = client.task(task?.id ?? '').wait()
    write()
    expect((await waiting).text).toBe('one two')
    expect(await subscriptions()).toBe(0)
  },
)

it('a subscription to a task of the Python SDK 0.3 emits its changes without subscribing', async () => {
  const { peer, write, subscriptions } = startAgent('uvicorn', 'v0.3')
  const client = await connect(peer, { polling })
  const { task } = await client.send('go', { returnImmediately: true })
  let text = ''
  for await (const event of client.task(task?.id ?? '').subscribe()) {
    const artifacts = event.type === 'task' ? event.task.artifacts : event.type === 'artifact' ? [event.artifact] : []
    for (const { parts } of artifacts) for (const part of parts) text += 'text' in part ? part.text : ''
    write()
  }
  expect(text).toBe('one two')
  expect(await subscriptions()).toBe(0)
})
