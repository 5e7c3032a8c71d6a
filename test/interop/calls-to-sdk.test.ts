import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express'
import { DefaultRequestHandler as OlderHandler, InMemoryTaskStore as OlderStore } from 'a2a-sdk-0-3-last/server'
import {
  agentCardHandler as olderCardHandler,
  jsonRpcHandler as olderRpcHandler,
} from 'a2a-sdk-0-3-last/server/express'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/entries/client.ts'
import { agent } from '../../src/entries/index.ts'
import { collect, until } from '../support/async.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'

const userBuilder = async () => ({ isAuthenticated: true, userName: 'somebody' })

function startNew() {
  return startExpressServer((app, origin) => {
    const requestHandler = new DefaultRequestHandler(sdkCard(origin), new InMemoryTaskStore(), sdkAgent())
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
  })
}

function startOlder() {
  return startExpressServer((app, origin) => {
    const card = legacySdkCard(origin, { url: `${origin}/rpc` })
    const requestHandler = new OlderHandler(card, new OlderStore(), legacySdkAgent())
    app.use('/.well-known/agent-card.json', olderCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', olderRpcHandler({ requestHandler, userBuilder }))
  })
}

describe.each([
  ['1.3.0', startNew],
  ['0.3.14', startOlder],
])('turn.call and an agent of @a2a-js/sdk %s', (_, start) => {
  async function planner() {
    const url = await start()
    const client = await connect(
      agent({ name: 'Planner' }, async (turn) => {
        const { text, message } = await turn.call(url, turn.text)
        return `${message ? 'message' : 'task'}: ${text}`
      }),
    )
    return { url, client }
  }

  it('understand each other: an answer, a task, a question and its answer', async () => {
    const { client } = await planner()
    expect((await client.send('hello')).text).toBe('message: hi')
    expect((await client.send('count')).text).toBe('task: onetwothree')
    const talk = client.conversation()
    const asked = await talk.send('ask')
    expect([asked.task?.status.state, asked.text]).toEqual(['input-required', 'Up to what?'])
    expect((await talk.send('three')).text).toBe('task: onetwothree')
  })

  it('stop together', async () => {
    const { url, client } = await planner()
    const { task } = await client.send('wait', { returnImmediately: true })
    const events = collect(client.task(task?.id ?? '').subscribe())
    const child = () =>
      client
        .task(task?.id ?? '')
        .get()
        .then(({ status }) => status.message?.referenceTaskIds?.[0])
    await until(async () => (await child()) !== undefined)
    const below = (await connect(url)).task((await child()) ?? '')
    expect((await below.get()).status.state).toBe('working')
    await client.task(task?.id ?? '').cancel()
    expect((await events).at(-1)).toMatchObject({ status: { state: 'canceled' } })
    await until(async () => (await below.get()).status.state === 'canceled')
  })
})
