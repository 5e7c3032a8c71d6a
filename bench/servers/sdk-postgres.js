import { DefaultRequestHandler } from '@a2a-js/sdk/server'
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { control } from './control.ts'
import { card, executor } from './sdk-agent.ts'

/** The official SDK with its own PostgreSQL store, with tables created by its `a2a-db` tool. */
const [connectionString] = process.argv.slice(2)
const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }) })
const requestHandler = new DefaultRequestHandler(card, new DatabaseTaskStore(db), executor)
const app = express()
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
const server = app.listen(0, '127.0.0.1', () => control(server.address().port))
