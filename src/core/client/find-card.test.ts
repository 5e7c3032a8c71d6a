import { exportJWK, generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import { rpcCard, startHttpServer } from '../../../test/support/servers/http-server.ts'
import { signCard } from '../auth/card-signature/sign-card.ts'
import { createCardVerifier } from '../auth/card-signature/verify-card.ts'
import type { JsonObject } from '../base/json.ts'
import { etagOf, matchesEtag } from '../http/response-headers.ts'
import { connect } from './connect.ts'
import { createCardCache } from './find-card.ts'
import type { CachedCard } from './options.ts'

async function signedAgent() {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const state = { card: {} as JsonObject, answers: [] as number[] }
  const origin = await startHttpServer((request, response) => {
    const body = JSON.stringify(state.card)
    const etag = etagOf(body)
    response.statusCode = matchesEtag(request.headers['if-none-match'], etag) ? 304 : 200
    state.answers.push(response.statusCode)
    response.setHeader('etag', etag).end(response.statusCode === 304 ? undefined : body)
  })
  state.card = await signCard(rpcCard(origin) as JsonObject, { key: privateKey, kid: 'one', alg: 'ES256' })
  const verifyCard = createCardVerifier({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] })
  return { origin, state, verifyCard }
}

describe('verifyCard', () => {
  it('the signed part of a card is used and cached, and verified again when it is unchanged', async () => {
    const { origin, state, verifyCard } = await signedAgent()
    state.card = { ...state.card, url: 'https://attacker.example' }
    const cardCache = createCardCache()
    let verifications = 0
    const counting = (card: JsonObject) => {
      verifications++
      return verifyCard(card)
    }
    for (let n = 0; n < 2; n++) {
      const { card } = await connect(origin, { verifyCard: counting, cardCache })
      expect(card.interfaces.map(({ url }) => url)).toEqual([`${origin}/rpc`])
    }
    expect(state.answers).toEqual([200, 304])
    expect(verifications).toBe(2)
  })

  it('a card that was changed is neither used nor cached', async () => {
    const { origin, state, verifyCard } = await signedAgent()
    const cached: CachedCard[] = []
    const cardCache = { get: () => undefined, set: (_: string, card: CachedCard) => void cached.push(card) }
    state.card = {
      ...state.card,
      supportedInterfaces: [{ url: 'https://attacker.example', protocolBinding: 'JSONRPC' }],
    }
    const failure = await connect(origin, { verifyCard, cardCache }).catch((error) => error)
    expect(failure).toMatchObject({ code: 'invalid-agent-response', reason: 'card-verification-failed' })
    expect(failure.message).toContain('the card is not the one that "one" has signed')
    expect(failure.hint).toContain('its signer is not trusted')
    expect(cached).toEqual([])
  })

  it.each(['JSONRPC', 'HTTP+JSON'] as const)(
    'the extended card is verified like the public one, over %s',
    async (binding) => {
      const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
      const verifyCard = createCardVerifier({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] })
      const state = { card: {} as JsonObject, extended: {} as JsonObject }
      const origin = await startHttpServer((request, response) => {
        response.setHeader('content-type', 'application/json')
        if (request.url?.startsWith('/.well-known/')) return void response.end(JSON.stringify(state.card))
        const answer = binding === 'JSONRPC' ? { jsonrpc: '2.0', result: state.extended } : state.extended
        response.end(JSON.stringify(answer))
      })
      const sign = (card: object) => signCard(card as JsonObject, { key: privateKey, kid: 'one', alg: 'ES256' })
      const supportedInterfaces = [{ url: `${origin}/a2a`, protocolBinding: binding, protocolVersion: '1.0' }]
      const plain = { ...rpcCard(origin), supportedInterfaces, capabilities: { extendedAgentCard: true } }
      state.card = await sign(plain)
      state.extended = { ...(await sign({ ...plain, name: 'Insider' })), url: 'https://attacker.example' }

      const client = await connect(origin, { verifyCard, cardCache: createCardCache() })
      expect((await client.extendedCard()).name).toBe('Insider')
      state.extended = { ...state.extended, name: 'Impostor' }
      await expect(client.extendedCard()).rejects.toMatchObject({
        code: 'invalid-agent-response',
        reason: 'card-verification-failed',
        hint: expect.stringContaining('its signer is not trusted'),
      })
      state.extended = plain as JsonObject
      await expect(client.extendedCard()).rejects.toMatchObject({ reason: 'card-verification-failed' })
      const trusting = await connect(origin, { cardCache: createCardCache() })
      expect((await trusting.extendedCard()).name).toBe('Scripted')
    },
  )

  it('a card that is passed in is verified as well', async () => {
    const { state, verifyCard } = await signedAgent()
    expect((await connect(state.card, { verifyCard })).card.name).toBe('Scripted')
    const changed = { ...state.card, name: 'Another' }
    await expect(connect(changed, { verifyCard })).rejects.toMatchObject({ reason: 'card-verification-failed' })
  })
})

it('a card cache keeps the cards that came last', () => {
  const cache = createCardCache(2)
  for (const etag of ['a', 'b', 'a', 'c']) cache.set(`https://${etag}.test`, { etag, wire: {} })
  expect(['a', 'b', 'c'].map((name) => cache.get(`https://${name}.test`)?.etag)).toEqual(['a', undefined, 'c'])
})
