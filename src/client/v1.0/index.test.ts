import { expect, it } from 'vitest'
import { createLocalHandler } from '../../../test/support/servers/local-handler.ts'
import { connect } from './index.ts'

it('the client of 1.0 talks to an agent that speaks it, among others', async () => {
  const client = await connect(createLocalHandler(async () => 'Hello.'))
  expect((await client.send('Hello?')).text).toBe('Hello.')
  expect(client.explain().endpoint).toMatchObject({ dialect: 'v1.0' })
})

it('the client of 1.0 says what to do about the card of an older agent', async () => {
  const card = { name: 'Old', url: 'http://localhost/', protocolVersion: '0.3.0' }
  await expect(connect(card)).rejects.toMatchObject({
    code: 'unsupported-operation',
    reason: 'older-card',
    hint: 'Take connect() from parley-a2a/client, which speaks every version.',
  })
})
