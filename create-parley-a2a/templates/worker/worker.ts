import { env } from 'cloudflare:workers'
import { apiKey, hashApiKey } from 'parley-a2a/auth'
import { createWorker } from 'parley-a2a/cloudflare'
import { reporter } from './agent.ts'

const { API_KEY: key } = env as { readonly API_KEY?: string }

/** Accepts the key of the environment. */
const scheme = apiKey({
  keys: async (hash) => (key && hash === (await hashApiKey(key)) ? { id: 'caller', hash } : undefined),
})
const worker = createWorker(reporter, { auth: key ? { schemes: { key: scheme } } : 'none' })

export const TaskObject = worker.TaskObject
export default { fetch: worker.fetch }
