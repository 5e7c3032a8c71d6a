import { expect, it } from 'vitest'
import { credentialsIn } from '../../../../test/support/auth/request-credentials.ts'
import { apiKey, hashApiKey, newApiKey } from './api-key.ts'

const key = newApiKey()
const stored = { id: 'ci', tenant: 'acme', scopes: ['read'], hash: await hashApiKey(key) }
const ci = { principal: { id: 'ci', tenant: 'acme', scopes: ['read'] } }

it.each([
  ['a header', {}, { headers: { 'x-api-key': key } }],
  ['a header of another name', { name: 'Key' }, { headers: { key } }],
  ['the query', { in: 'query', name: 'key' }, { query: `a=1&key=${key}` }],
  ['a cookie', { in: 'cookie', name: 'key' }, { headers: { cookie: `a=b; key=${key}; c` } }],
] as const)('a key in %s is accepted', async (_, options, request) => {
  const scheme = apiKey({ ...options, keys: [stored] })
  expect(await scheme.authenticate(credentialsIn(request))).toEqual({ ...ci, isKept: true })
  expect(await scheme.authenticate(credentialsIn())).toBeUndefined()
})

it.each([
  ['an unknown key', {}, { headers: { 'x-api-key': newApiKey() } }],
  ['the hash of a key', {}, { headers: { 'x-api-key': stored.hash } }],
  ['an empty header', {}, { headers: { 'x-api-key': '' } }],
  ['two headers', {}, { headers: { 'x-api-key': `${key}, ${key}` } }],
  ['two parameters', { in: 'query', name: 'key' }, { query: `key=${key}&key=${key}` }],
  ['two cookies', { in: 'cookie', name: 'key' }, { headers: { cookie: `key=${key}; key=${key}` } }],
  ['a megabyte of key', {}, { headers: { 'x-api-key': 'x'.repeat(2 ** 20) } }],
] as const)('%s is rejected', async (_, options, request) => {
  const scheme = apiKey({ ...options, keys: [stored] })
  expect(await scheme.authenticate(credentialsIn(request))).toHaveProperty('reason')
})

it('a looked-up key must have the hash that was asked for', async () => {
  const hashes: string[] = []
  const lookUp = (answer: typeof stored | undefined) =>
    apiKey({
      keys: async (hash) => {
        hashes.push(hash)
        return answer
      },
    })
  const request = credentialsIn({ headers: { 'x-api-key': key } })
  expect(await lookUp(stored).authenticate(request)).toEqual(ci)
  expect(await lookUp(undefined).authenticate(request)).toHaveProperty('reason')
  const wrong = { ...stored, hash: await hashApiKey('another') }
  expect(await lookUp(wrong).authenticate(request)).toHaveProperty('reason')
  expect(hashes).toEqual([stored.hash, stored.hash, stored.hash])
})

it('the card and the challenge say where the key goes', () => {
  const scheme = apiKey({ in: 'query', name: 'key', keys: [stored], description: 'Ask us for one.' })
  expect(scheme.card).toEqual({ type: 'api-key', location: 'query', name: 'key', description: 'Ask us for one.' })
  expect(scheme.challenge({ realm: 'Ada', scopes: [] })).toBe('ApiKey realm="Ada", in="query", name="key"')
})

it('a key that is not hashed is an error', () => {
  expect(() => apiKey({ keys: [{ id: 'ci', hash: 'secret' }] })).toThrow('hash of ci as hashApiKey gives it')
})

it('keys in another form than a list are an error that names the form', () => {
  // @ts-expect-error: a record of keys
  expect(() => apiKey({ keys: { ci: 'secret' } })).toThrow('expected keys as a list of { id, hash }')
})
