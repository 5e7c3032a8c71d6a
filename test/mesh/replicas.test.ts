import { expect, it, onTestFinished } from 'vitest'
import { configuredKeys, createMeshPeer, generateSigningKey } from '../../src/entries/mesh.ts'
import { createPostgresReplayCache } from '../../src/entries/postgres.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, post, signedRequest, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { openMigratedPool, secondPool } from '../support/postgres/pools.ts'

it('two replicas share their replay cache and return the same response to the same message', async () => {
  const pool = await openMigratedPool()
  const [key, shopKey] = [await generateSigningKey(), await generateSigningKey()]
  const keys = await configuredKeys({ 'shop-agent': shopKey.jwk })
  let asked = 0
  const replica = async (own: typeof pool) => {
    const replayCache = await createPostgresReplayCache({ pool: own })
    onTestFinished(() => replayCache.close())
    const methods = { get_price: () => ({ price: ++asked }) }
    const peer = createMeshPeer({
      card: meshCard('price-agent'),
      key,
      keys,
      methods,
      replayCache,
      logger: silentLogger,
    })
    return (await startMeshServer(peer)).endpoint
  }
  const [one, two] = [await replica(pool), await replica(secondPool(pool))]
  const text = await signedRequest(shopKey)
  const first = await post(one, text)
  expect(first.body).toMatchObject({ payload: { status: 'success', data: { price: 1 } } })
  expect((await post(two, text)).text).toBe(first.text)
  const { auth, ...rest } = JSON.parse(text)
  const copied = { ...rest, auth: { ...auth, signature: `AAAA${auth.signature.slice(4)}` } }
  expect((await post(two, JSON.stringify(copied))).status).toBe(401)
  const [here, there] = await Promise.all(
    [one, two].map(async (endpoint) => post(endpoint, await signedRequest(shopKey))),
  )
  expect([here?.status, there?.status]).toEqual([200, 200])
  expect(asked).toBe(3)
})
