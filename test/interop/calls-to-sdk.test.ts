import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express'
import { DefaultRequestHandler as LegacyHandler, InMemoryTaskStore as LegacyStore } from 'a2a-sdk-0-3-last/server'
import {
  agentCardHandler as legacyCardHandler,
  jsonRpcHandler as legacyRpcHandler,
} from 'a2a-sdk-0-3-last/server/express'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/entries/client.ts'
import { agent } from '../../src/entries/index.ts'
import { collect, until } from '../support/async.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'

const userBuilder = async () => ({ isAuthenticated: true, userName: 'alice' })

function startServer() {
  return startExpressServer((app, origin) => {
    const requestHandler = new DefaultRequestHandler(sdkCard(origin), new InMemoryTaskStore(), sdkAgent())
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
  })
}

function startLegacyServer() {
  return startExpressServer((app, origin) => {
    const card = legacySdkCard(origin, { url: `${origin}/rpc` })
    const requestHandler = new LegacyHandler(card, new LegacyStore(), legacySdkAgent())
    app.use('/.well-known/agent-card.json', legacyCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', legacyRpcHandler({ requestHandler, userBuilder }))
  })
}

describe.each([
  ['1.3.0', startServer],
  ['0.3.14', startLegacyServer],
])('turn.call to an agent of @a2a-js/sdk %s', (_, start) => {
  async function connectPlanner() {
    const url = await start()
    const client = await connect(
      agent({ name: 'Planner' }, async (turn) => {
        const { text, output, message } = await turn.call(url, turn.text)
        return message ? `message: ${text}` : `task: ${output.text}`
      }),
    )
    return { url, client }
  }

  it('turn.call returns messages and tasks, and forwards questions and answers', async () => {
    const { client } = await connectPlanner()
    expect((await client.send('hello')).text).toBe('message: hi')
    expect((await client.send('count')).text).toBe('task: onetwothree')
    const conversation = client.conversation()
    const question = await conversation.send('ask')
    expect([question.task?.status.state, question.text]).toEqual(['input-required', 'Up to what?'])
    expect((await conversation.send('three')).text).toBe('task: onetwothree')
  })

  it('canceling the task cancels the called task', async () => {
    const { url, client } = await connectPlanner()
    const { task } = await client.send('wait', { returnImmediately: true })
    const events = collect(client.task(task?.id ?? '').subscribe())
    const childTaskId = () =>
      client
        .task(task?.id ?? '')
        .get()
        .then(({ status }) => status.message?.referenceTaskIds?.[0])
    await until(async () => (await childTaskId()) !== undefined)
    const childTask = (await connect(url)).task((await childTaskId()) ?? '')
    expect((await childTask.get()).status.state).toBe('working')
    await client.task(task?.id ?? '').cancel()
    expect((await events).at(-1)).toMatchObject({ status: { state: 'canceled' } })
    await until(async () => (await childTask.get()).status.state === 'canceled')
  })
})
