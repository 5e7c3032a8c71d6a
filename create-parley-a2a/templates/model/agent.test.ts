import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createPair } from 'parley-a2a/testing'
import { closeTools, shop } from './agent.ts'

after(closeTools)

// The test plays the model by its script, whatever .env says, because `npm test` does not read it.
test('the shop looks into the stock and answers', async (context) => {
  const pair = await createPair(shop)
  context.after(() => pair.close())
  const reply = await pair.client.send('How many chairs do you have?')
  assert.equal(reply.task?.status.state, 'completed')
  assert.equal(reply.text, 'We have 7 chairs.')
})
