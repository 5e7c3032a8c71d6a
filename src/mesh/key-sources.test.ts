import { describe, expect, it } from 'vitest'
import { combineKeySources, configuredKeys, firstHandshakeKeys, lookedUpKeys } from './key-sources.ts'
import { generateSigningKey } from './keys.ts'

describe('a key source', () => {
  it('configured keys may be several for one agent', async () => {
    const [one, other] = [await generateSigningKey(), await generateSigningKey()]
    const keys = await configuredKeys({ 'shop-agent': [one.jwk, other.jwk] })
    expect((await keys.keysOf('shop-agent')).map(({ fingerprint }) => fingerprint)).toEqual([
      one.fingerprint,
      other.fingerprint,
    ])
    expect(await keys.keysOf('toString')).toEqual([])
    await expect(configuredKeys({ 'shop-agent': 'nonsense!' })).rejects.toThrow('The key of shop-agent cannot be used')
  })

  it('a lookup of keys is cached, and a failed one is retried', async () => {
    const { jwk, fingerprint } = await generateSigningKey()
    let lookups = 0
    const keys = lookedUpKeys({
      lookUp: async () => {
        if (++lookups === 1) throw new Error('no registry')
        return [jwk]
      },
    })
    await expect(keys.keysOf('shop-agent')).rejects.toThrow('no registry')
    const results = await Promise.all([keys.keysOf('shop-agent'), keys.keysOf('shop-agent')])
    expect(results.flat().map((key) => key.fingerprint)).toEqual([fingerprint, fingerprint])
    expect(lookups).toBe(2)
  })

  it('an expired lookup of keys is repeated', async () => {
    let lookups = 0
    const keys = lookedUpKeys({
      ttl: 0,
      lookUp: async () => {
        lookups++
        return []
      },
    })
    await keys.keysOf('a')
    await keys.keysOf('a')
    expect(lookups).toBe(2)
  })

  it('keys of first handshakes let no new agent take over an id or evict others', async () => {
    const [first, second] = [await generateSigningKey(), await generateSigningKey()]
    const keys = firstHandshakeKeys({ capacity: 1 })
    expect(keys.learn('shop-agent', first)).toBe(true)
    expect(keys.learn('shop-agent', first)).toBe(true)
    expect(keys.learn('shop-agent', second)).toBe(false)
    expect(keys.learn('other-agent', second)).toBe(false)
    keys.forget('shop-agent')
    expect(keys.learn('other-agent', second)).toBe(true)
  })

  it('of several sources, the first with keys of the agent is used', async () => {
    const [one, other] = [await generateSigningKey(), await generateSigningKey()]
    const keys = combineKeySources(
      await configuredKeys({ a: one.jwk }),
      await configuredKeys({ a: other.jwk, b: other.jwk }),
    )
    expect((await keys.keysOf('a'))[0]?.fingerprint).toBe(one.fingerprint)
    expect((await keys.keysOf('b'))[0]?.fingerprint).toBe(other.fingerprint)
    expect(await keys.keysOf('c')).toEqual([])
  })
})
