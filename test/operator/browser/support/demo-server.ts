import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyRing, newSigningKey } from '../../../../src/entries/auth.ts'
import { connect } from '../../../../src/entries/client.node.ts'
import { configuredKeys, createMeshPeer, generateSigningKey } from '../../../../src/entries/mesh.ts'
import { createGuardedFetch } from '../../../../src/entries/node.ts'
import { floorMinute } from '../../../../src/operator/minutes.ts'
import { serve } from '../../../../src/serve/serve.ts'
import { serveRegistry } from '../../../../src/serve/serve-registry.ts'
import { createSqliteLog } from '../../../../src/stores/sqlite/sqlite-log.ts'
import { silentLogger } from '../../../support/logger.ts'
import { meshCard } from '../../../support/mesh/mesh-peers.ts'
import { browserCookie, operatorOf, type ServerWithLink } from '../../../support/servers/operator-login.ts'
import { assistant, createRefunder } from './console-agents.ts'
import { orders } from './orders-agent.ts'
import { createDispatcher } from './tool-agent.ts'

export interface DemoServer extends AsyncDisposable {
  /** Address of the console, without a slash at its end. */
  readonly url: string
  /** Address of the console of a mesh peer. */
  readonly meshUrl: string
  /** Address of the console of a registry that lists the agents. */
  readonly registryUrl: string
  /** The sessions of an operator at all three. */
  readonly cookies: Awaited<ReturnType<typeof browserCookie>>[]
  /** Names tasks for addresses: one with many events, one with calls, one with steps, one that waits. */
  readonly tasks: Readonly<Record<'streamed' | 'called' | 'steps' | 'waiting' | 'reported', string>>
}

/** A server with agents of every kind and tasks in every state, for pictures of the console. */
export async function startDemo(): Promise<DemoServer> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-'))
  await storeMinutes(directory)
  const [key, shopKey, signingKey] = await Promise.all([generateSigningKey(), generateSigningKey(), newSigningKey()])
  const agents = { '/': assistant, '/refunds': createRefunder(), '/orders': orders, '/dispatch': createDispatcher() }
  const server = await serve(agents, {
    ...{ port: 0, signals: false, logger: silentLogger, directory, drainDeadline: 0, grpc: true },
    keys: createKeyRing(signingKey),
    push: { loopback: 'allow', retry: { attempts: 1 } },
  })
  const peer = await serve(assistant, {
    ...{ port: 0, signals: false, logger: silentLogger, directory: join(directory, 'peer'), drainDeadline: 0 },
    mesh: { key, keys: await configuredKeys({ 'shop-agent': shopKey.jwk }) },
  })
  const fetch = createGuardedFetch({ loopback: 'allow' })
  const registry = await serveRegistry({
    fetch,
    logger: silentLogger,
    maintenance: false,
    directory: join(directory, 'registry'),
  })
  const broken = createServer((_, response) => response.writeHead(503).end())
  await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve))
  const { port } = broken.address() as { port: number }
  const tasks = await createTasks(server, `http://127.0.0.1:${port}/hooks/orders`)
  const shop = createMeshPeer({
    ...{ card: meshCard('shop-agent'), key: shopKey, logger: silentLogger },
    keys: await configuredKeys({ 'sales-assistant': key.jwk }),
  })
  await shop.link({ agentId: 'sales-assistant', endpoint: `${peer.url}/mesh` }).handshake()
  const operator = operatorOf(registry)
  for (const path of ['', '/refunds', '/orders']) await operator.addToRegistry(`${server.url}${path}`)
  for (const { id } of (await operator.registryAgents({})).agents) {
    for (let count = 0; count < 12; count++) await operator.probe(id)
  }
  return {
    url: `${server.url}/console`,
    meshUrl: `${peer.url}/console`,
    registryUrl: `${registry.url}/console`,
    cookies: await Promise.all([server, peer, registry].map((each) => browserCookie(each))),
    tasks,
    async [Symbol.asyncDispose]() {
      broken.close()
      await registry.close()
      await fetch.close()
      await peer.close()
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Tasks in every state, so that lists have content. */
async function createTasks(server: ServerWithLink, brokenWebhook: string): Promise<DemoServer['tasks']> {
  const { url } = server
  const now = { returnImmediately: true } as const
  const [client, refunds, packing, dispatcher] = await Promise.all(
    ['', '/refunds', '/orders', '/dispatch'].map((path) => connect(`${url}${path}`)),
  )
  if (!client || !refunds || !packing || !dispatcher) throw new Error('An agent is missing.')
  const idOf = ({ task }: { readonly task?: { readonly id: string } | undefined }) => `${task?.id}`
  for (let round = 0; round < 4; round++) {
    for (const text of ['report', 'stream 40', 'fail', 'slow 30']) await client.send(text, now)
    await packing.send('steps')
  }
  const streamed = idOf(await client.send('slow 60'))
  const reported = idOf(await client.send('report'))
  const called = idOf(await packing.send(`call ${url}/`))
  const steps = idOf(await packing.send('steps'))
  const operator = operatorOf(server)
  const { url: address, token } = await operator.createReceiver()
  const delivered = idOf(await client.send('wait', now))
  await client.task(delivered).push.create({ url: address, token })
  await client.task(delivered).cancel()
  const failing = idOf(await packing.send('wait', now))
  await packing.task(failing).push.create({ url: brokenWebhook })
  await packing.task(failing).cancel()
  await client.send('login', now)
  await client.send('form', now)
  await dispatcher.send('measure', now)
  await dispatcher.send('locate', now)
  await client.send('wait', now)
  const waiting = idOf(await refunds.send('Refund order A-1047', now))
  return { streamed, called, steps, waiting, reported }
}

/** An hour and a day of traffic before the server started. */
async function storeMinutes(directory: string): Promise<void> {
  const log = createSqliteLog({
    ...{ file: join(directory, 'sales-assistant.db'), agent: assistant.profile.name, logger: silentLogger },
  })
  const end = floorMinute(Date.now()) - 60_000
  const minutes = Array.from({ length: 23 * 60 }, (_, index) => {
    const minute = end - index * 60_000
    const wave = 1 + Math.sin(minute / 4_000_000) * 0.6 + Math.sin(minute / 600_000) * 0.25
    const completed = Math.round(14 * wave)
    const failed = index % 17 === 0 ? 2 : index % 5 === 0 ? 1 : 0
    const slow = Math.round(70 + 4 * wave)
    const durations = { [slow - 14]: Math.ceil(completed * 0.6), [slow]: Math.ceil(completed * 0.35), [slow + 9]: 1 }
    return { minute, started: completed + failed, completed, failed, canceled: 0, durations }
  })
  await log.operator.keepMinutes(minutes.toReversed(), 0)
  await log.close()
}
