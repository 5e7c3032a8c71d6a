import { z } from 'zod'
import { agent } from '../../../src/entries/index.ts'
import { shop } from './shop.ts'

const Payment = z.enum(['card', 'invoice'])

export const orders = agent({ name: 'Orders', recovery: 'resume' }, async (turn) => {
  const reservation = await turn.step('reserve', () => shop.reserve(turn.text))
  await turn.status('working', `Reserved until ${reservation.until}`)

  const payment = await turn.ask('Pay by card or invoice?', { schema: Payment, expiresAt: reservation.until })

  await turn.step('charge', () => shop.charge(reservation.id, payment))
  return `Ordered, and paid by ${payment}`
})
