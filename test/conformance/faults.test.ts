import { afterAll, describe, expect, it } from 'vitest'
import { openWebhookReceiver } from '../../src/cli/webhook-receiver.ts'
import { conformance } from '../../src/conformance/conformance.ts'
import type { Binding, Version } from '../../src/conformance/interface.ts'
import { allBindings } from '../../src/conformance/rule.ts'
import { rules } from '../../src/conformance/rules.ts'
import type { WebhookReceiver } from '../../src/conformance/session.ts'
import { agent } from '../../src/core/agent/agent.ts'
import { hashApiKey } from '../../src/core/auth/schemes/api-key.ts'
import { releasedDialects } from '../../src/core/dialects/versions.ts'
import { createHandler } from '../../src/core/server/handler.ts'
import { apiKey, createKeyRing, newSigningKey } from '../../src/entries/auth.ts'
import { createPushFetch, grpc } from '../../src/entries/node.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { silentLogger } from '../support/logger.ts'
import { shareTestServer } from '../support/servers/test-server.ts'
import { createFaults, otherKey, plainKey, requiredExtension } from './faults.ts'
import { type Fault, faultyFetch } from './faulty-agent.ts'
import { faultyGrpcFetch } from './faulty-grpc.ts'

const texts = { task: 'count', message: 'hello', inputRequired: 'ask', longRunning: 'wait' }
const dialects = { speak: [...releasedDialects, 'v1.1'] } as const
const common = { logger: silentLogger, turns: { cancelGrace: 50 }, dialects }
const pushFetch = createPushFetch({ loopback: 'allow' })
const full = createHandler(agent(profile, count), { ...common, auth: 'none', push: { fetch: pushFetch } })
const plainProfile = { ...profile, extensions: [{ uri: requiredExtension, required: true }] }
const plainOptions = {
  auth: {
    schemes: {
      key: apiKey({
        keys: [
          { id: 'ada', hash: await hashApiKey(plainKey) },
          { id: 'eve', hash: await hashApiKey(otherKey) },
        ],
      }),
    },
  },
  capabilities: { streaming: false },
  keys: createKeyRing(await newSigningKey('ES256')),
  extendedCard: { description: 'More for callers with a key.' },
}
const plain = createHandler(agent(plainProfile, count), { ...common, ...plainOptions })
afterAll(() => Promise.all([full.drain(0), plain.drain(0)]))

/** gRPC needs HTTP/2, so its agents are real servers. */
const transport = grpc({ loopback: 'allow' })
const fullServer = shareTestServer(count, { profile, grpc: true, push: { loopback: 'allow' }, dialects })
const plainServer = shareTestServer(count, { profile: plainProfile, grpc: true, ...plainOptions })
afterAll(() => transport.close())

const receiver = await openWebhookReceiver()
afterAll(() => receiver.close())

function webhooksWith({ webhook }: Fault): WebhookReceiver {
  return {
    url: receiver.url,
    async receive(path, timeout) {
      const delivery = await receiver.receive(path, timeout)
      return delivery && webhook ? webhook(delivery) : delivery
    },
  }
}

interface Run {
  readonly fault?: Fault
  readonly agent?: Fault['agent']
  readonly version: Version
  readonly binding: Binding
  readonly only?: readonly string[]
}

/** Judges the agent behind a proxy with a fault. The card is judged as well. */
async function judge({ fault = {}, agent = fault.agent, version, binding, only }: Run) {
  const isGrpc = binding === 'GRPC'
  const { fetch: handle } = agent === 'plain' ? plain : full
  const { url } = (agent === 'plain' ? plainServer : fullServer)().server
  return await conformance(`${isGrpc ? url : 'http://localhost'}${fault.path ?? ''}`, {
    fetch: isGrpc ? fetch : faultyFetch(handle, fault),
    ...(isGrpc && { grpc: { fetch: faultyGrpcFetch(transport.fetch, fault) } }),
    texts,
    probe: false,
    versions: [version],
    bindings: [binding],
    webhooks: webhooksWith(fault),
    ...(agent === 'plain' && { headers: { 'x-api-key': plainKey }, otherHeaders: { 'x-api-key': otherKey } }),
    ...(only && { rules: only }),
  })
}

const failedRules = ({ failed }: Awaited<ReturnType<typeof judge>>) => failed().map(({ rule }) => rule)

/** The interfaces on which a rule is checked; those of cards are judged over JSON-RPC. */
function interfacesOf(id: string): readonly Pick<Run, 'version' | 'binding'>[] {
  const all = rules
    .filter((rule) => rule.id === id)
    .flatMap(({ versions, bindings = allBindings }) =>
      versions.flatMap((version) => bindings.map((binding) => ({ version, binding }))),
    )
  return all
    .filter(({ version, binding }) => binding !== 'HTTP+JSON' || ['1.1', '1.0', '0.3'].includes(version))
    .filter(({ version, binding }) => binding !== 'GRPC' || ['1.1', '1.0', '0.3'].includes(version))
    .map(({ version, binding }) => ({ version, binding: binding === 'CARD' ? 'JSONRPC' : binding }))
}

const ids = [...new Set(rules.map(({ id }) => id))]

it('every rule has a fault, and every fault a rule', () => {
  expect(Object.keys(createFaults()).toSorted()).toEqual(ids.toSorted())
})

describe.each(['full', 'plain'] as const)('the %s agent without a fault', (name) => {
  it('the agent keeps every rule', async () => {
    const agent = name === 'plain' ? name : undefined
    for (const version of agent ? (['1.0'] as const) : (['1.0', '1.1'] as const)) {
      for (const binding of allBindings) {
        expect([version, binding, ...failedRules(await judge({ agent, version, binding }))]).toEqual([version, binding])
      }
    }
  })
})

describe.each(ids)('an agent that breaks %s', (id) => {
  const [first, ...others] = interfacesOf(id)

  it('fails this check and no other', async () => {
    const fault = createFaults()[id] ?? {}
    if (!first) throw new Error(`${id} is checked nowhere.`)
    expect(failedRules(await judge({ ...first, fault })).toSorted()).toEqual([id, ...(fault.also ?? [])].toSorted())
  })

  if (others.length === 0) return

  it('fails this check in the other bindings and versions', async () => {
    for (const other of others) {
      const { agent } = createFaults()[id] ?? {}
      const healthy = await judge({ ...other, agent, only: [id] })
      expect([other, healthy.checks.map(({ outcome }) => outcome)]).toEqual([other, ['passed']])
      const broken = await judge({ ...other, fault: createFaults()[id] ?? {}, only: [id] })
      expect([other, failedRules(broken)]).toEqual([other, [id]])
    }
  })
})
