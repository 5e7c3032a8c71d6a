import { createMemoryLog, serve } from 'parley-a2a'
import { apiKey, jwt } from 'parley-a2a/auth'
import { control } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** Parley with the memory log, for callers with a token signed by this key, an API key with this hash, or no credentials. */
const [key = '', hash = ''] = process.argv.slice(2)
const token = jwt({ issuer: 'https://issuer.test', audience: 'bench', keys: { jwks: [JSON.parse(key)] } })
const schemes = { token, key: apiKey({ keys: [{ id: 'bench', hash }] }) }
const auth = { schemes, anonymous: true }
const { port } = await serve(createBenchAgent(), { log: createMemoryLog(), auth, signals: false })
control(port)
