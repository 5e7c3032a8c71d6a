import { apiKey, hashApiKey } from 'parley-a2a/auth'
import { routeHandlers } from 'parley-a2a/next'
import { createHandler } from 'parley-a2a/server'
import { createSqliteLog } from 'parley-a2a/sqlite'
import { reporter } from '../../../../agent.ts'

export const dynamic = 'force-dynamic'

const key = process.env.API_KEY
const log = createSqliteLog({ file: `${process.env.PARLEY_DIRECTORY || '.parley'}/reporter.db` })
const handler = createHandler(reporter, {
  log,
  path: '',
  auth: key ? { schemes: { key: apiKey({ keys: [{ id: 'caller', hash: await hashApiKey(key) }] }) } } : 'none',
})

export const { GET, HEAD, POST, DELETE, OPTIONS } = routeHandlers(handler)
