import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPair } from 'parley-a2a/testing'
import { cashier } from './agent.ts'

// The test plays the model by its script, whatever .env says, because `npm test` does not read it.
for (const [answer, result] of [
  ['yes', 'Paid 120.'],
  ['no', 'Not paid.'],
] as const) {
  test(`the cashier asks before it pays: ${answer}`, async (context) => {
    const pair = await createPair(cashier)
    context.after(() => pair.close())
    const conversation = pair.client.conversation()
    const question = await conversation.send('Pay my bill')
    assert.equal(question.task?.status.state, 'input-required')
    assert.equal(question.text, 'Pay 120?')
    assert.equal((await conversation.send(answer)).text, result)
  })
}
