import { describe, expect, it } from 'vitest'
import { combineKeySources, configuredKeys, firstHandshakeKeys, lookedUpKeys } from './key-sources.ts'
import { generateSigningKey } from './keys.ts'

describe('keys', () => {
  it('come from the configuration, several for one agent', async () => {
    const [one, other] = [await generateSigningKey(), await generateSigningKey()]
    const keys = await configuredKeys({ 'shop-agent': [one.jwk, other.jwk] })
    expect((await keys.keysOf('shop-agent')).map(({ fingerprint }) => fingerprint)).toEqual([
      one.fingerprint,
      other.fingerprint,
    ])
    expect(await keys.keysOf('toString')).toEqual([])
    await expect(configuredKeys({ 'shop-agent': 'nonsense!' })).rejects.toThrow('The key of shop-agent cannot be used')
  })

  it('are looked up once while they hold, and again after a failure', async () => {
    const { jwk, fingerprint } = await generateSigningKey()
    let lookups = 0
    const keys = lookedUpKeys({
      lookUp: async () => {
        if (++lookups === 1) throw new Error('no registry')
        return [jwk]
      },
    })
    await expect(keys.keysOf('shop-agent')).rejects.toThrow('no registry')
    const found = await Promise.all([keys.keysOf('shop-agent'), keys.keysOf('shop-agent')])
    expect(found.flat().map((key) => key.fingerprint)).toEqual([fingerprint, fingerprint])
    expect(lookups).toBe(2)
  })

  it('are looked up again when they have run out', async () => {
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

  it('of a first handshake stay; a newcomer cannot take a name over, nor push others out', async () => {
    const [own, foreign] = [await generateSigningKey(), await generateSigningKey()]
    const keys = firstHandshakeKeys({ capacity: 1 })
    expect(keys.learn('shop-agent', own)).toBe(true)
    expect(keys.learn('shop-agent', own)).toBe(true)
    expect(keys.learn('shop-agent', foreign)).toBe(false)
    expect(keys.learn('other-agent', foreign)).toBe(false)
    keys.forget('shop-agent')
    expect(keys.learn('other-agent', foreign)).toBe(true)
  })

  it('come from the first source that knows the agent', async () => {
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
