import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'
import { z } from 'zod'

/**
 * A payment waits for the approval of a person. No process works on it meanwhile, and the server may restart: the payment is
 * prepared once and made once. The same question appears in the inbox of the console.
 */

const effects: string[] = []

const payments = agent({ name: 'Payments', recovery: 'resume' }, async (turn) => {
  const amount = await turn.step('prepare', () => {
    effects.push(`prepared ${turn.text}`)
    return turn.text
  })
  const approved = await turn.ask(`Pay ${amount}?`, { schema: z.stringbool(), timeout: 86_400_000 })
  if (!approved) return turn.reject('The payment was declined.')
  await turn.step('pay', () => void effects.push(`paid ${amount}`))
  return `Paid ${amount}.`
})

const directory = await mkdtemp(join(tmpdir(), 'parley-approval-'))
const start = () => serve(payments, { directory, turns: { leaseTtl: 1_000 } })

const first = await start()
// Connections break when the server restarts. Agents of Parley recognise a repeated message, so the client may send it again.
const customer = await connect(first.url, { peerDeduplicates: true })
const approvedPayment = customer.conversation()
const declinedPayment = customer.conversation()
const question = await approvedPayment.send('40 €')
console.log('The agent asks:', question.text)
assert.equal(question.task?.status.state, 'input-required')
await declinedPayment.send('9000 €')
const { port } = first
await first.close()
console.log('The server restarts.')

const second = await serve(payments, { directory, port, turns: { leaseTtl: 1_000 } })
const paid = await approvedPayment.send('yes')
console.log('After the approval:', paid.text)
assert.equal(paid.task?.status.state, 'completed')
const declined = await declinedPayment.send('no')
assert.equal(declined.task?.status.state, 'rejected')
assert.deepEqual(effects, ['prepared 40 €', 'prepared 9000 €', 'paid 40 €'])
console.log('Each payment was prepared once, and only the approved one was made.')

await second.close()
await rm(directory, { recursive: true })
