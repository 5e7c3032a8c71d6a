import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHandler } from '../../../src/core/server/handler.ts'
import { apiKey, basic, hashApiKey, hashPassword, jwt, newApiKey, tokenExchange } from '../../../src/entries/auth.ts'
import { type ConnectOptions, connect, credentialsPart } from '../../../src/entries/client.ts'
import {
  bearer,
  apiKeyCredentials as ownKey,
  basicCredentials as ownPassword,
} from '../../../src/entries/client-auth.ts'
import { agent, type Logger, serve, type TaskLog, type Turn } from '../../../src/entries/index.ts'
import { createPostgresLog } from '../../../src/entries/postgres.ts'
import { createSqliteLog } from '../../../src/entries/sqlite.ts'
import { collect, until } from '../../support/async.ts'
import { agentClient, startTokenExchangeServer } from '../../support/auth/token-exchange-server.ts'
import { audience, startIssuer } from '../../support/auth/token-issuer.ts'
import { silentLogger } from '../../support/logger.ts'
import { createDatabase, startServerFirst } from '../../support/postgres/database.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startEchoingPeer } from '../../support/servers/echoing-peer.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** A log, and everything in its database as text. */
interface Place {
  readonly log: TaskLog
  /** Leaves out the webhooks table, which has to keep its credentials. */
  dump(): Promise<string>
}

const canary = 'harmless-canary'
const filesAudience = 'https://files.test'

async function openSqlite(): Promise<Place> {
  const directory = await temporaryDirectory()
  const file = join(directory, 'tasks.db')
  const log = createSqliteLog({ file })
  onTestFinished(() => log.close())
  return {
    log,
    async dump() {
      const copies = await temporaryDirectory()
      for (const name of await readdir(directory)) await copyFile(join(directory, name), join(copies, name))
      const database = new DatabaseSync(join(copies, 'tasks.db'))
      database.exec('PRAGMA secure_delete = ON; DELETE FROM webhooks; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
      database.close()
      const files = await readdir(copies)
      return (await Promise.all(files.map((name) => readFile(join(copies, name), 'latin1')))).join()
    },
  }
}

async function openPostgres(): Promise<Place> {
  const database = await createDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  const log = await createPostgresLog({ pool })
  onTestFinished(async () => {
    await log.close()
    await pool.end()
    await database.drop()
  })
  return {
    log,
    async dump() {
      const { rows } = await pool.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'parley'`)
      const names = (rows as { tablename: string }[]).map(({ tablename }) => tablename)
      const tables = names.filter((name) => name !== 'webhooks')
      const texts = await Promise.all(tables.map((name) => pool.query(`SELECT t::text FROM parley.${name} AS t`)))
      return JSON.stringify(texts.map((each) => each.rows))
    },
  }
}

startServerFirst()

describe.each([
  ['SQLite', openSqlite],
  ['PostgreSQL', openPostgres],
])('secrets with the %s log', (_, open) => {
  it('secrets appear in no stored task, response, webhook body or log line', { timeout: 60_000 }, async () => {
    const { log, dump } = await open()
    const issuer = await startIssuer()
    const exchange = await startTokenExchangeServer(issuer)
    const peer = await startEchoingPeer()
    const hook = await startWebhookReceiver()
    const scheme = (aud: string) => jwt({ issuer: issuer.url, audience: aud, keys: { url: issuer.keysUrl } })

    // The secrets that must not be found.
    const token = await issuer.token({ sub: 'alice', canary })
    const keys = { header: newApiKey(), query: newApiKey(), cookie: newApiKey() }
    const own = newApiKey()
    const password = `pass-${newApiKey()}`
    const github = `ghp-${newApiKey()}`
    const hookToken = `hook-${newApiKey()}`
    const hookCredentials = `bearer-${newApiKey()}`
    const delegated = new Set<string>()
    const outOfBand = `oob-${newApiKey()}`

    const files = createHandler(
      agent({ name: 'Files' }, async (turn) => turn.fail(`${canary}: nothing here for ${turn.principal.id}`)),
      { auth: { schemes: { corp: scheme(filesAudience) } }, logger: silentLogger },
    )

    /** An agent that writes its secrets into statuses, artifacts, steps and errors. */
    async function careless(turn: Turn): Promise<string> {
      await turn.status('working', `${canary} in a status`)
      if (turn.text === 'peer') {
        const failed = await turn.call(peer.url, 'go').catch((error) => error)
        await turn.status('working', `It said: ${failed.message}`)
        await turn.data({ failed: failed.message })
        throw failed
      }
      if (turn.text === 'delegate') {
        const given = await turn.delegate(filesAudience, ['read'])
        delegated.add(given)
        await turn.status('working', `I have ${given}`)
        await turn.step('keep', () => ({ given })).catch((error) => turn.status('working', error.message))
        await turn
          .call(files, 'list', { auth: [bearer(given)] })
          .catch((error) => turn.status('working', error.message))
        throw new Error(`${canary}: I had ${given}`)
      }
      const given =
        turn.text === 'elsewhere'
          ? await turn.requireAuth('github', { outOfBand: async () => outOfBand })
          : await turn.requireAuth('github')
      await turn.artifact('notes').close(`${canary}: ${given.secret()}`)
      return `${canary}: I was given ${given.secret()}`
    }

    const logged: string[] = []
    const note = (fields: object, message: string) =>
      void logged.push(`${message} ${inspect(fields, { depth: 20 })} ${JSON.stringify(fields)}`)
    const logger: Logger = { debug: note, info: note, warn: note, error: note }
    const stored = async (key: string, id: string) => ({ keys: [{ id, scopes: [], hash: await hashApiKey(key) }] })
    const server = await serve(agent({ name: 'Careless', recovery: 'resume' }, careless), {
      log,
      logger,
      signals: false,
      drainDeadline: 0,
      push: { loopback: 'allow' },
      calls: { auth: [ownKey(own)] },
      auth: {
        schemes: {
          corp: scheme(audience),
          header: apiKey({ name: 'x-key', ...(await stored(keys.header, 'h')) }),
          query: apiKey({ in: 'query', name: 'key', ...(await stored(keys.query, 'q')) }),
          cookie: apiKey({ in: 'cookie', name: 'session', ...(await stored(keys.cookie, 'c')) }),
          users: basic({ users: { ada: { password: await hashPassword(password) } } }),
        },
        exchange: tokenExchange({ tokenUrl: exchange.tokenUrl, ...agentClient }),
      },
      turns: { cancelGrace: 50, errorMessages: true },
    })
    onTestFinished(() => server.close())

    const bodies: string[] = []
    const listening: NonNullable<ConnectOptions['fetch']> = async (url, init) => {
      const response = await fetch(url, init)
      bodies.push(await response.clone().text())
      return response
    }
    const push = { url: hook.url, token: hookToken, authentication: { scheme: 'Bearer', credentials: hookCredentials } }
    const callers = [
      [bearer(token)],
      [ownKey(keys.header, { name: 'x-key' })],
      [ownKey(keys.query, { in: 'query' })],
      [ownKey(keys.cookie, { in: 'cookie' })],
      [ownPassword({ username: 'ada', password })],
    ]
    for (const auth of callers) {
      const client = await connect(server.url, { auth, fetch: listening })
      for (const text of ['peer', 'delegate', 'elsewhere']) {
        await collect(client.stream(text, { push }))
      }
      await client.send(['need', credentialsPart({ scheme: 'github', credentials: github })])
      const talk = client.conversation()
      await talk.send('need')
      await talk.send('here?')
      const done = await talk.send(credentialsPart({ scheme: 'github', credentials: github }))
      expect(done.task?.status.state).toBe('completed')
      await collect(client.listTasks({ includeArtifacts: true, historyLength: 100 }))
      await client
        .task('unknown')
        .get()
        .catch((error) => bodies.push(inspect(error)))
    }
    const wrong: Record<string, string>[] = [
      { authorization: `Bearer ${token}x` },
      { 'x-key': `${keys.header}x` },
      { authorization: `Basic ${btoa(`eve:${password}`)}` },
    ]
    for (const headers of wrong) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} })
      await listening(server.url, { method: 'POST', headers: { 'a2a-version': '1.0', ...headers }, body })
    }
    await until(() => hook.requests.filter(({ body }) => body.includes('FAILED')).length >= 8, 20_000)

    // Every secret was used.
    expect(delegated.size).toBe(1)
    expect(peer.received.join()).toContain(own)
    expect(hook.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${hookCredentials}` })

    const pushed = hook.requests.map(({ body }) => body).join('\n')
    const places = { stored: await dump(), sent: bodies.join('\n'), pushed, logged: logged.join('\n') }
    const planted = { token, ...keys, own, password, github, outOfBand, hookToken, hookCredentials, ...agentClient }
    const { clientId: _, ...wanted } = { ...planted, delegated: [...delegated][0] ?? '' }
    for (const [place, text] of Object.entries(places)) {
      expect(text, place).toContain(canary)
      for (const [name, secret] of Object.entries(wanted)) {
        const isFound = [secret, ...base64sOf(secret), encodeURIComponent(secret)].some((form) => text.includes(form))
        expect(isFound, `${name} in ${place}`).toBe(false)
      }
    }
  })
})

/** The secret in Base64 at every alignment, as it looks behind a prefix such as a user name. */
function base64sOf(secret: string): readonly string[] {
  return [0, 1, 2].map((before) =>
    Buffer.from(`${'x'.repeat(before)}${secret}`)
      .toString('base64')
      .slice(4, -4),
  )
}
