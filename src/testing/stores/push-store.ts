import type { NewWebhook, PushStore, StoredWebhook, Webhook } from '../../core/push/store.ts'
import { expect } from './expect.ts'
import { type StoreTest, sleep, storageTest, storeTest, until } from './store-test.ts'

const alice = { holder: 'alice', ttl: 60_000 }
const bob = { holder: 'bob', ttl: 60_000 }
const past = 1_000

const webhook: Webhook = {
  uid: 'u',
  config: { url: 'https://example.com/', token: 'tö\n\u0000', carry: { 'v0.3': { schemes: ['a', 'b'] } } },
  contextId: 'c',
  traceId: 't',
  state: 'active',
  cursor: 0,
  givenUp: 0,
  dead: [],
  redriven: [],
  recent: [],
  created: past,
}

function newWebhook(overrides: Partial<NewWebhook> = {}): NewWebhook {
  return { taskId: 't', owner: 'o', id: 'i', due: past, webhook, ...overrides }
}

/** The behaviour of every webhook store. */
export const pushStoreTests: readonly StoreTest<PushStore>[] = [
  storeTest('a webhook is stored unchanged, with any strings as its key', async (store) => {
    const odd = { taskId: 't\n\\ \u001f', owner: 'ö\u0000', id: '"é\u2028' }
    const stored = await addWebhook(store, { ...odd, due: undefined })
    expect(stored).toEqual({ ...odd, due: undefined, webhook, revision: 1, place: stored.place })
    expect(await store.get(odd)).toEqual(stored)
    expect(await store.list({ taskId: odd.taskId, limit: 10 })).toEqual([stored])
  }),
  storeTest('a webhook is added once per task, owner and id', async (store) => {
    const first = await addWebhook(store)
    expect(await store.add(newWebhook({ due: 5 }))).toBeUndefined()
    expect(await store.get(first)).toEqual(first)
    await addWebhook(store, { owner: 'p' })
    await addWebhook(store, { id: 'j' })
    await addWebhook(store, { taskId: 'u' })
    expect(await store.list({ taskId: 't', limit: 10 })).toHaveLength(3)
  }),
  storeTest('an edit is refused if the revision is not the newest', async (store) => {
    const first = await addWebhook(store)
    const second = await store.edit({ ...first, due: undefined, webhook: { ...webhook, cursor: 3 } })
    expect(second).toMatchObject({ revision: 2, due: undefined, place: first.place, webhook: { cursor: 3 } })
    expect(await store.edit({ ...first, webhook: { ...webhook, cursor: 9 } })).toBeUndefined()
    expect(await store.get(first)).toEqual(second)
  }),
  storeTest('a removed webhook is gone, and removing it again does nothing', async (store) => {
    const stored = await addWebhook(store)
    expect(await store.remove(stored)).toBe(true)
    expect(await store.remove(stored)).toBe(false)
    expect(await store.get(stored)).toBeUndefined()
    expect(await store.edit(stored)).toBeUndefined()
  }),
  storeTest('webhooks are listed in the order of insertion, page by page', async (store) => {
    for (const id of ['z', 'a', 'm']) await addWebhook(store, { id })
    await addWebhook(store, { taskId: 'other', id: 'x' })
    const [first, second] = await store.list({ taskId: 't', limit: 2 })
    expect([first?.id, second?.id]).toEqual(['z', 'a'])
    const rest = await store.list({ taskId: 't', after: second?.place ?? 0, limit: 2 })
    expect(rest.map(({ id }) => id)).toEqual(['m'])
    expect((await store.list({ limit: 10 })).map(({ id }) => id)).toEqual(['z', 'a', 'm', 'x'])
  }),
  storeTest('a claim leases due webhooks without a lease, the longest overdue first', async (store) => {
    await addWebhook(store, { id: 'later', due: Date.now() + 60_000 })
    await addWebhook(store, { id: 'never', due: undefined })
    await addWebhook(store, { id: 'second', due: 2_000 })
    await addWebhook(store, { id: 'first', due: 1_000 })
    await addWebhook(store, { id: 'taken', due: 500 }, bob)
    expect((await store.claim(alice, 1)).map(({ id }) => id)).toEqual(['first'])
    expect((await store.claim(alice, 10)).map(({ id }) => id)).toEqual(['second'])
    expect(await store.claim(bob, 10)).toEqual([])
  }),
  storeTest('concurrent claims never lease the same webhook', async (store) => {
    for (let at = 0; at < 20; at++) await addWebhook(store, { id: `${at}` })
    const claims = await Promise.all([alice, bob, alice, bob].map((lease) => store.claim(lease, 7)))
    const ids = claims.flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toHaveLength(20)
  }),
  storeTest('an expired lease belongs to the next claimant', async (store) => {
    const stored = await addWebhook(store, {}, { holder: 'alice', ttl: 30 })
    let claimed: readonly StoredWebhook[] = []
    await until(async () => {
      claimed = await store.claim(bob, 1)
      return claimed.length > 0
    })
    expect(claimed).toEqual([stored])
    expect(await store.renew(alice, [stored])).toMatchObject([{ id: 'i' }])
    expect(await store.settle('alice', [stored])).toHaveLength(1)
    expect(await store.renew(bob, [stored])).toEqual([])
  }),
  storeTest('a lease is held until it is released', async (store) => {
    const stored = await addWebhook(store, {}, { holder: 'alice', ttl: 200 })
    expect(await store.renew(alice, [stored])).toEqual([])
    await store.release('bob', [stored])
    await sleep(250)
    expect(await store.claim(bob, 1)).toEqual([])
    await store.release('alice', [stored])
    expect(await store.claim(bob, 1)).toEqual([stored])
  }),
  storeTest('progress is stored for several webhooks, and the edited and removed ones are returned', async (store) => {
    const [one, two, three] = [
      await addWebhook(store, { id: '1' }, alice),
      await addWebhook(store, { id: '2' }, alice),
      await addWebhook(store, { id: '3' }, alice),
    ]
    const edited = await store.edit({ ...two, webhook: { ...webhook, givenUp: 7 } })
    await store.remove(three)
    const advanced = (stored: StoredWebhook) => ({ ...stored, due: 4_000, webhook: { ...webhook, cursor: 5 } })
    const refused = await store.settle('alice', [advanced(one), advanced(two), advanced(three)])
    expect(refused.map(({ id }) => id).sort()).toEqual(['2', '3'])
    expect(await store.get(one)).toEqual({ ...advanced(one), revision: 2 })
    expect(await store.get(two)).toEqual(edited)
    expect(await store.renew(alice, [two])).toHaveLength(1)
  }),
  storeTest('progress is stored with the lease kept or released', async (store) => {
    const stored = await addWebhook(store, {}, alice)
    expect(await store.settle('alice', [stored])).toEqual([])
    expect(await store.claim(bob, 1)).toEqual([])
    expect(await store.settle('alice', [{ ...stored, revision: 2, isReleased: true }])).toEqual([])
    expect(await store.claim(bob, 1)).toHaveLength(1)
  }),
  storeTest('idle webhooks expire', async (store) => {
    await addWebhook(store, { id: 'busy' })
    for (const id of ['1', '2', '3']) await addWebhook(store, { id, due: undefined })
    expect(await store.expire(Date.now() - 60_000, 10)).toBe(0)
    expect(await store.expire(Date.now() + 60_000, 2)).toBe(2)
    expect(await store.expire(Date.now() + 60_000, 2)).toBe(1)
    expect((await store.list({ limit: 10 })).map(({ id }) => id)).toEqual(['busy'])
  }),
]

/** The further behaviour of a store that several processes share. */
export const sharedPushStoreTests: readonly StoreTest<PushStore>[] = [
  storageTest('several processes see the same webhooks, and one of them leases each', async (storage) => {
    const [one, other] = [await storage.open(), await storage.open()]
    const stored = await addWebhook(one)
    expect(await other.get(stored)).toEqual(stored)
    const claims = await Promise.all([one.claim(alice, 1), other.claim(bob, 1)])
    expect(claims.flat()).toEqual([stored])
    const [holder, another] = claims[0].length > 0 ? ['alice', 'bob'] : ['bob', 'alice']
    expect(await other.settle(another, [stored])).toHaveLength(1)
    expect(await other.settle(holder, [stored])).toEqual([])
    expect(await one.get(stored)).toMatchObject({ revision: 2 })
  }),
]

async function addWebhook(
  store: PushStore,
  overrides: Partial<NewWebhook> = {},
  lease?: typeof alice,
): Promise<StoredWebhook> {
  const stored = await store.add(newWebhook(overrides), lease)
  if (!stored) throw new Error('the webhook exists already')
  return stored
}
