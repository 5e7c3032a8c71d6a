import express from 'express'
import { apiKey, hashApiKey } from 'parley-a2a/auth'
import { toListener } from 'parley-a2a/node'
import { createHandler } from 'parley-a2a/server'
import { createSqliteLog } from 'parley-a2a/sqlite'
import { reporter } from './agent.ts'

const key = process.env.API_KEY
const host = process.env.HOST || '127.0.0.1'
const port = process.env.PORT || '4000'
const directory = process.env.PARLEY_DIRECTORY || '.parley'
if (!key && host !== '127.0.0.1') throw new Error('Set API_KEY: the agent can be called from other machines.')

const log = createSqliteLog({ file: `${directory}/reporter.db` })
const handler = createHandler(reporter, {
  log,
  auth: key ? { schemes: { key: apiKey({ keys: [{ id: 'caller', hash: await hashApiKey(key) }] }) } } : 'none',
})

const app = express()
app.use('/agents/reporter', toListener(handler.exchange))
app.get('/livez', (_request, response) => void response.send('ok'))
app.get('/', (_request, response) => void response.send('The agent is at /agents/reporter.'))

const server = app.listen(Number(port), host, () => console.log(`http://localhost:${port}/agents/reporter`))
process.once('SIGTERM', stop).once('SIGINT', stop)

/** Lets running turns finish, then ends. */
async function stop() {
  await handler.drain(10_000)
  server.close()
  server.closeAllConnections()
  await log.close()
}
