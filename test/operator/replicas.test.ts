import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { configuredKeys, createMeshPeer, generateSigningKey } from '../../src/entries/mesh.ts'
import { createOperatorClient } from '../../src/entries/operator.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard } from '../support/mesh/mesh-peers.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { operatorOf } from '../support/servers/operator-login.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

startServerFirst()

const worker = () =>
  agent({ name: 'Worker', recovery: 'resume' }, async (turn) => {
    turn.log.info({}, 'colours are chosen')
    const { text } = await turn.ask('Which colour?')
    await turn.status('completed', `You chose ${text}`)
  })

/** The options of two servers that share their tasks. */
const stores: readonly (readonly [string, () => Promise<readonly [ServeOptions, ServeOptions]>])[] = [
  [
    'SQLite',
    async () => {
      const directory = await temporaryDirectory()
      return [{ directory }, { directory }]
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const database = await takeDatabase()
      const pool = new pg.Pool({ connectionString: database.url })
      const logs = [await createPostgresLog({ pool }), await createPostgresLog({ pool })] as const
      onTestFinished(async () => {
        for (const log of logs) await log.close()
        await pool.end()
        await database.release()
      })
      return [{ log: logs[0] }, { log: logs[1] }]
    },
  ],
]

describe.each(stores)('two replicas on %s', (_name, open) => {
  it('share sessions, changes, answers and the overview', async () => {
    const keys = [{ id: 'olga', hash: await hashApiKey('operator-key') }]
    const console = { auth: { schemes: { key: apiKey({ keys }) } } }
    const servers = await Promise.all(
      (await open()).map(async (options) => {
        const server = await serve(worker(), {
          signals: false,
          logger: silentLogger,
          drainDeadline: 0,
          console,
          ...options,
        })
        onTestFinished(() => server.close())
        return server
      }),
    )
    const [one, two] = servers
    if (!one || !two) throw new Error('two servers expected')
    const login = await fetch(`${one.url}/console/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-parley-console': '1' },
      body: JSON.stringify({ scheme: 'key', secret: 'operator-key' }),
    })
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const other = createOperatorClient({ url: `${two.url}/console`, headers: { cookie } })
    expect(await other.session()).toMatchObject({ principal: { id: 'olga' } })

    const abort = new AbortController()
    const changes = other.taskChanges({}, abort.signal)
    const arriving = changes.next()
    await new Promise((resolve) => setTimeout(resolve, 200))
    void (await connect(one.url)).send('go').catch(() => {})
    const { value } = await arriving
    expect(value?.value).toMatchObject({ type: 'task', task: { agent: 'worker' } })
    abort.abort()

    await expect.poll(async () => (await other.inbox()).items.length, { timeout: 15_000 }).toBe(1)
    const [waiting] = (await other.inbox()).items
    if (!waiting) throw new Error('nothing waits')
    await other.answer(waiting, { parts: [{ text: 'red' }] })
    await expect.poll(async () => (await other.task(waiting)).summary, { timeout: 15_000 }).toBe('You chose red')
    expect((await other.overview('hour')).total.tasks).toEqual({ completed: 1 })

    const operator = createOperatorClient({ url: `${one.url}/console`, headers: { cookie } })
    await operator.logout()
    await expect(other.session()).rejects.toMatchObject({ status: 401 })
  })

  it('show the log lines, deliveries and envelopes of each other, also after a restart', async () => {
    const [ownKey, shopKey] = await Promise.all([generateSigningKey(), generateSigningKey()])
    const mesh = { key: ownKey, keys: await configuredKeys({ 'shop-agent': shopKey.jwk }) }
    const start = async (options: ServeOptions) => {
      const common = { signals: false, logger: silentLogger, drainDeadline: 0, push: {}, mesh }
      const server = await serve(worker(), { ...common, ...options })
      onTestFinished(() => server.close())
      return { server, operator: operatorOf(server) }
    }
    const [first, second] = await open()
    const [one, two] = [await start(first), await start(second)]

    void (await connect(one.server.url)).send('go').catch(() => {})
    await expect.poll(async () => (await two.operator.inbox()).items.length, { timeout: 15_000 }).toBe(1)
    const [task] = (await two.operator.inbox()).items
    if (!task) throw new Error('nothing waits')
    await expect.poll(async () => (await one.operator.log(task)).lines.length).toBe(2)
    const own = (await one.operator.log(task)).lines
    expect(own[0]).toMatchObject({ level: 'info', message: 'colours are chosen', process: expect.any(String) })
    await expect.poll(async () => (await two.operator.log(task)).lines, { timeout: 5_000 }).toEqual(own)

    const { id, url, token } = await one.operator.createReceiver()
    const deliveries = two.operator.receivedDeliveries(id)
    const arriving = deliveries.next()
    const headers = { 'x-a2a-notification-token': token }
    expect((await fetch(url, { method: 'POST', headers, body: 'first' })).status).toBe(204)
    const { value } = await arriving
    expect(value?.value).toMatchObject({ number: 1, body: 'first', verdict: 'Its token is right.' })
    const other = url.replace(one.server.url, two.server.url)
    expect((await fetch(other, { method: 'POST', body: 'x'.repeat(100_000) })).status).toBe(204)
    const { value: next } = await deliveries.next()
    expect(next?.value).toMatchObject({ number: 2, isShortened: true, verdict: 'It has no token.' })
    await deliveries.return(undefined)

    const shop = createMeshPeer({
      ...{ card: meshCard('shop-agent'), key: shopKey, logger: silentLogger },
      keys: await configuredKeys({ worker: ownKey.jwk }),
    })
    await shop.link({ agentId: 'worker', endpoint: `${one.server.url}/mesh` }).handshake()
    const { envelopes } = await one.operator.mesh()
    expect(envelopes.map(({ direction, type }) => `${direction} ${type}`)).toEqual([
      'out handshake_ack',
      'in handshake',
    ])
    await expect.poll(async () => (await two.operator.mesh()).envelopes, { timeout: 5_000 }).toEqual(envelopes)

    await one.server.close()
    const { operator } = await start(first)
    expect((await operator.log(task)).lines.slice(0, 2)).toEqual(own)
    expect((await operator.mesh()).envelopes).toEqual(envelopes)
    const kept = operator.receivedDeliveries(id)
    expect((await kept.next()).value?.value).toMatchObject({ number: 1, body: 'first' })
    await kept.return(undefined)
  })
})
