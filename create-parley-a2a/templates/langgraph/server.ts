import { serve } from 'parley-a2a'
import { apiKey, hashApiKey } from 'parley-a2a/auth'
import { cashier } from './agent.ts'

const key = process.env.API_KEY
await serve(cashier, {
  port: Number(process.env.PORT || 4000),
  auth: key ? { schemes: { key: apiKey({ keys: [{ id: 'caller', hash: await hashApiKey(key) }] }) } } : undefined,
})
