import { expect, it } from 'vitest'
import { createRecordingLogger } from '../../../test/support/logger.ts'
import { connect } from '../../core/client/connect.ts'
import { createHandler } from '../../core/server/handler.ts'
import { agent as agentWithClient, reachAgents } from '../../core/server/local-agent.ts'
import { agent } from './agent.ts'

const echo = agentWithClient({ name: 'Echo' }, (turn) => `You said: ${turn.text}`)
const planner = agent({ name: 'Planner' }, async (turn) => (await turn.call(echo, turn.text)).text)

it('an agent of a Worker calls others by calls.reach', async () => {
  const handler = createHandler(planner, { auth: 'none', calls: { reach: reachAgents() } })
  expect((await (await connect(handler)).send('hello')).text).toBe('You said: hello')
})

it('the log of a Worker without calls.reach says what an agent that calls others needs', async () => {
  const { logger, lines } = createRecordingLogger()
  const handler = createHandler(planner, { auth: 'none', logger })
  expect((await (await connect(handler)).send('hello')).task?.status.state).toBe('failed')
  expect(JSON.stringify(lines)).toContain('reachAgents() of parley-a2a/server')
})
