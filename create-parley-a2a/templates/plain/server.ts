import { serve } from 'parley-a2a'
import { apiKey, hashApiKey } from 'parley-a2a/auth'
import { reporter } from './agent.ts'

const key = process.env.API_KEY
await serve(reporter, {
  port: Number(process.env.PORT || 4000),
  auth: key ? { schemes: { key: apiKey({ keys: [{ id: 'caller', hash: await hashApiKey(key) }] }) } } : undefined,
})
