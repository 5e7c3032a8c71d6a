import { exportJWK, generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import { signCard } from '../../src/core/auth/card-signature/sign-card.ts'
import type { JsonObject } from '../../src/core/base/json.ts'
import { connect } from '../../src/entries/client.node.ts'
import { createRecordingLogger } from '../support/logger.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { startGateway } from './support.ts'

async function newKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  return { signing: { key: privateKey, kid, alg: 'ES256' as const }, pub: { ...(await exportJWK(publicKey)), kid } }
}

const cardAt = (url: string, skills: readonly string[] = ['count']): JsonObject => ({
  ...{ name: 'Ada', description: 'Counts', version: '1', capabilities: {} },
  ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
  skills: skills.map((id) => ({ id, name: id, description: id, tags: ['x'] })),
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
})

/** Serves a card that the test can change. */
async function startOrigin() {
  let card: JsonObject = {}
  const url = await startHttpServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(card))
  })
  return {
    url,
    publish(next: JsonObject) {
      card = next
    },
  }
}

describe('the signature of an agent card', () => {
  it('decides by the mode whether the agent is served', async () => {
    const [trusted, foreign] = await Promise.all([newKey('one'), newKey('one')])
    const origin = await startOrigin()
    const plain = cardAt(origin.url)
    const cards = {
      valid: await signCard(plain, trusted.signing),
      foreign: await signCard(plain, foreign.signing),
      unsigned: plain,
    }
    const results: Record<string, string> = {}
    for (const [kind, card] of Object.entries(cards)) {
      origin.publish(card)
      for (const mode of ['require', 'prefer', 'ignore'] as const) {
        const signature = { mode, keys: [trusted.pub] }
        const gateway = await startGateway({ agents: { ada: { url: origin.url, signature } } })
        const [agent] = gateway.agents()
        results[`${kind} ${mode}`] = agent?.state === 'ready' ? `${agent.signature}` : 'refused'
      }
    }
    expect(results).toEqual({
      ...{ 'valid require': 'valid', 'valid prefer': 'valid', 'valid ignore': 'unchecked' },
      ...{ 'foreign require': 'refused', 'foreign prefer': 'refused', 'foreign ignore': 'unchecked' },
      ...{ 'unsigned require': 'refused', 'unsigned prefer': 'unsigned', 'unsigned ignore': 'unsigned' },
    })
  })

  it('is named in the served card with the key', async () => {
    const { signing, pub } = await newKey('key-7')
    const origin = await startOrigin()
    origin.publish(await signCard(cardAt(origin.url), signing))
    const gateway = await startGateway({ agents: { ada: { url: origin.url, signature: { keys: [pub] } } } })
    const { card } = await connect(gateway.url)
    expect(card.capabilities.extensions?.map(({ params }) => params)).toContainEqual(
      expect.objectContaining({ verification: 'valid', keyId: 'key-7' }),
    )
  })

  it('is logged when its key or the skills change, and a card that turns invalid keeps the former one', async () => {
    const [one, two, foreign] = await Promise.all([newKey('one'), newKey('two'), newKey('two')])
    const origin = await startOrigin()
    origin.publish(await signCard(cardAt(origin.url), one.signing))
    const { lines, logger } = createRecordingLogger()
    const signature = { mode: 'require', keys: [one.pub, two.pub] } as const
    const gateway = await startGateway({ agents: { ada: { url: origin.url, signature } }, logger })
    const changes = () => lines.filter(({ level, message }) => level === 'warn' && message.includes('changed its key'))
    origin.publish(await signCard(cardAt(origin.url, ['count', 'sum']), two.signing))
    await gateway.refresh()
    expect(changes().map(({ fields }) => fields)).toMatchObject([
      { agent: 'ada', keyBefore: 'one', keyNow: 'two', added: ['sum'], removed: [] },
    ])
    const skills = async () => (await connect(gateway.url)).card.skills.map(({ id }) => id)
    expect(await skills()).toEqual(['count', 'sum'])
    origin.publish(await signCard(cardAt(origin.url, ['steal']), foreign.signing))
    await gateway.refresh()
    expect(gateway.agents()).toMatchObject([{ state: 'ready', failure: expect.stringContaining('signature') }])
    expect(await skills()).toEqual(['count', 'sum'])
  })

  it('needs keys unless it is ignored', async () => {
    const agents = { ada: { url: 'http://127.0.0.1:9', signature: { mode: 'require' as const } } }
    await expect(startGateway({ agents })).rejects.toThrow('signature.mode: require needs keys, jwks or trustedOrigins')
  })
})
