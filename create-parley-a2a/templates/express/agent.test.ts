import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPair } from 'parley-a2a/testing'
import { reporter } from './agent.ts'

test('the reporter asks for the period, then writes the report', async (context) => {
  const pair = await createPair(reporter)
  context.after(() => pair.close())
  const conversation = pair.client.conversation()
  assert.equal((await conversation.send('Sales')).text, 'For which period?')
  const reply = await conversation.send('May')
  assert.equal(reply.text, 'The report is ready.')
  assert.equal(reply.artifacts[0]?.text, '# Sales\nIn May they grew by 7 %.\n')
})

test('callers of A2A 0.3 get the same', async (context) => {
  const pair = await createPair(reporter, { connect: { dialects: ['v0.3'] } })
  context.after(() => pair.close())
  assert.equal((await pair.client.send('Sales')).text, 'For which period?')
})
