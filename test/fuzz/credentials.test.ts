import { pbkdf2Sync } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createAuth } from '../../src/core/auth/auth.ts'
import { A2AError } from '../../src/core/protocol/errors.ts'
import { apiKey, basic, hashApiKey, jwt, mutualTls, newApiKey } from '../../src/entries/auth.ts'
import { credentialsIn } from '../support/auth/request-credentials.ts'
import { silentLogger } from '../support/logger.ts'

const hash = await hashApiKey(newApiKey())
const password = `pbkdf2-sha256$1000$00$${pbkdf2Sync('x', Buffer.of(0), 1000, 32, 'sha256').toString('hex')}`
const auth = createAuth(
  {
    schemes: {
      header: apiKey({ keys: [{ id: 'a', hash }] }),
      query: apiKey({ in: 'query', name: 'key', keys: [{ id: 'b', hash }] }),
      cookie: apiKey({ in: 'cookie', name: 'key', keys: [{ id: 'c', hash }] }),
      basic: basic({ users: { ada: { password } } }),
      jwt: jwt({ issuer: 'https://i.test', audience: 'x', keys: { secret: new Uint8Array(32) } }),
      mtls: mutualTls(),
    },
  },
  { realm: 'Test', logger: silentLogger },
)

const text = fc.string({ unit: 'binary', maxLength: 60 })
const base64 = fc.base64String({ maxLength: 60 })
const tokens = fc.array(fc.oneof(base64, text), { maxLength: 4 }).map((parts) => parts.join('.'))
const schemes = fc.constantFrom('Bearer', 'bearer', 'Basic', 'BASIC', 'Digest', '', ',', 'Bearer Bearer')
const authorization = fc.tuple(schemes, fc.oneof(tokens, base64, text)).map(([scheme, rest]) => `${scheme} ${rest}`)
const headers = fc.record(
  {
    authorization,
    'x-api-key': text,
    cookie: fc.oneof(
      text,
      text.map((value) => `key=${value}`),
    ),
  },
  { requiredKeys: [] },
)
const query = fc.oneof(
  text,
  text.map((value) => `key=${value}`),
  text.map((value) => `key=${encodeURIComponent(value.toWellFormed())}`),
)

it('arbitrary credentials are answered with 401 and a challenge', async () => {
  const property = fc.asyncProperty(headers, query, async (sentHeaders, sentQuery) => {
    try {
      await auth.authenticate(credentialsIn({ headers: sentHeaders, query: sentQuery }))
      expect.unreachable('random credentials were accepted')
    } catch (error) {
      if (!(error instanceof A2AError)) throw error
      expect(error).toMatchObject({ code: 'unauthenticated', challenge: expect.stringMatching(/^[ -~]+$/) })
    }
  })
  await fc.assert(property, { numRuns: 2_000 })
})
