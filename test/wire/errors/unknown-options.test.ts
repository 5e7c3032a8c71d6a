import { describe, expect, it } from 'vitest'
import { createMemoryLimits } from '../../../src/core/limits/limit-store.ts'
import { apiKey, basic, custom, jwt, mutualTls, oauth2, openId } from '../../../src/entries/auth.ts'
import { connect } from '../../../src/entries/client.node.ts'
import {
  apiKeyCredentials,
  authorizationCode,
  basicCredentials,
  bearer,
  clientCredentials,
  deviceCode,
} from '../../../src/entries/client-auth.ts'
import { fastifyPlugin } from '../../../src/entries/fastify.ts'
import { honoHandler } from '../../../src/entries/hono.ts'
import {
  agent,
  createHandler,
  createHost,
  createLogger,
  createMemoryLog,
  createSqliteLog,
} from '../../../src/entries/index.ts'
import { koaMiddleware } from '../../../src/entries/koa.ts'
import { createAgentLoop } from '../../../src/entries/loop.ts'
import { createMcpServer } from '../../../src/entries/mcp.ts'
import { routeHandlers } from '../../../src/entries/next.ts'
import {
  createGuardedFetch,
  createPushFetch,
  grpc,
  servePeer,
  serveRegistry,
  toListener,
} from '../../../src/entries/node.ts'
import { createPostgresLog } from '../../../src/entries/postgres.ts'
import { createReceiver } from '../../../src/entries/push.ts'
import { createMemoryRegistryStore, createRegistry } from '../../../src/entries/registry.ts'
import { openTelemetry } from '../../../src/entries/telemetry.ts'
import { createPair, scripted } from '../../../src/entries/testing.ts'
import { serve } from '../../../src/serve/serve.ts'
import { scriptedModel } from '../../support/models/scripted-model.ts'
import { optionCases } from '../../support/option-cases.ts'

const echo = agent({ name: 'Echo' }, ({ text }) => text)
const pool = { query() {}, connect() {}, on() {} }

/** Calls with a member that is misspelled, and the member that was meant. Types would reject them; JavaScript does not. */
const calls: readonly (readonly [() => unknown, string])[] = [
  [
    () => agent({ name: 'Echo', skils: [] } as never, () => ''),
    'agent(Echo): skils is not an option. Did you mean skills?',
  ],
  [
    () => agent({ name: 'Echo', recovery: 'resum' } as never, () => ''),
    "agent(Echo): recovery: expected 'fail', 'retry', 'resume' or { policy, attempts }, got \"resum\".",
  ],
  [
    () => createHandler(echo, { auth: 'none', bodyLimit: 1 } as never),
    'createHandler(Echo): bodyLimit is not an option. Did you mean http.bodyLimit?',
  ],
  [
    () => createHost().add(echo, { auth: 'none', moutn: '/a' } as never),
    'host.add(Echo): moutn is not an option. Did you mean mount?',
  ],
  [() => createLogger({ levle: 'info' } as never), 'createLogger: levle is not an option. Did you mean level?'],
  [() => createSqliteLog({ flie: 'a.db' } as never), 'createSqliteLog: flie is not an option. Did you mean file?'],
  [() => createSqliteLog({} as never), 'createSqliteLog: file: expected a non-empty string, got undefined.'],
  [
    () => createPostgresLog({ pool, shema: 'a' } as never),
    'createPostgresLog: shema is not an option. Did you mean schema?',
  ],
  [
    () => createPostgresLog({ pool: 'postgres://localhost/parley' } as never),
    'createPostgresLog: pool: expected a Pool of the package pg, got "postgres://localhost/parley".',
  ],
  [() => createPostgresLog({} as never), 'createPostgresLog: pool: expected a Pool of the package pg, got undefined.'],
  [
    () => createAgentLoop({ model: scriptedModel(), maxStep: 3 } as never),
    'createAgentLoop: maxStep is not an option. Did you mean maxSteps?',
  ],
  [
    () => createMemoryLog({ keepEnd: 5 } as never),
    'createMemoryLog: keepEnd is not an option. Did you mean keepEnded?',
  ],
  [() => createMemoryLog({ keepEnded: -1 }), 'createMemoryLog: keepEnded: expected an integer of at least 0, got -1.'],
  [
    () => createHandler(echo, { auth: 'none', retention: { complete: 5 } } as never),
    'createHandler(Echo): retention.complete is not an option. Did you mean completed?',
  ],
  [() => createGuardedFetch({ alow: [] } as never), 'createGuardedFetch: alow is not an option. Did you mean allow?'],
  [
    () => createGuardedFetch({ loopback: 'yes' } as never),
    'createGuardedFetch: loopback: expected one of "allow", "refuse", got "yes".',
  ],
  [() => createPushFetch({ timeuot: 5 } as never), 'createPushFetch: timeuot is not an option. Did you mean timeout?'],
  [() => grpc({ keepalive: 5 } as never), 'grpc: keepalive is not an option. Did you mean keepAlive?'],
  [
    () => connect('http://127.0.0.1:1', { dialects: ['v2.0'] } as never),
    'connect: dialects[0]: expected one of "v0.1", "v0.2", "v0.3", "v0.3-house", "v0.3-proto", "v1.0", "v1.1", got "v2.0".',
  ],
  [
    () => connect('http://127.0.0.1:1', { timout: 3 } as never),
    'connect: timout is not an option. Did you mean timeout?',
  ],
  [
    () => connect('http://127.0.0.1:1', { timeout: '10s' } as never),
    'connect: timeout: expected a number of milliseconds of at least 1, such as 30_000, got "10s".',
  ],
  [() => basic({} as never), 'basic: users: expected an object, got undefined.'],
  [() => basic({ user: {} } as never), 'basic: user is not an option. Did you mean users?'],
  [() => apiKey({ keys: [], nmae: 'Key' } as never), 'apiKey: nmae is not an option. Did you mean name?'],
  [() => custom({} as never), 'custom: card: expected a scheme as the card declares it'],
  [
    () => mutualTls({ trustdomain: 'a' } as never),
    'mutualTls: trustdomain is not an option. Did you mean trustDomain?',
  ],
  [() => jwt({ isuer: 'a', keys: {} } as never), 'jwt: isuer is not an option. Did you mean issuer?'],
  [() => oauth2({} as never), "oauth2: flow: expected a flow such as { type: 'client-credentials'"],
  [() => oauth2({ flow: { type: 'password' } } as never), 'oauth2: expected jwt or introspection'],
  [() => openId({} as never), 'openId: issuer: expected a non-empty string, got undefined.'],
  [() => bearer(undefined as never), 'bearer: token: expected a string, or a function that returns one.'],
  [() => apiKeyCredentials('a', { nam: 'b' } as never), 'apiKeyCredentials: nam is not an option. Did you mean name?'],
  [() => basicCredentials({} as never), 'basicCredentials: username: expected a non-empty string, got undefined.'],
  [() => clientCredentials({} as never), 'clientCredentials: clientId: expected a non-empty string, got undefined.'],
  [
    () => clientCredentials({ clientId: 'a', scope: [] } as never),
    'clientCredentials: scope is not an option. Did you mean scopes?',
  ],
  [() => authorizationCode({ clientId: 'a' } as never), 'authorizationCode: redirectUri: expected a non-empty string'],
  [() => deviceCode({ clientId: 'a' } as never), 'deviceCode: onPrompt: expected a function, got undefined.'],
  [() => createHost({ laod: {} } as never), 'createHost: laod is not an option. Did you mean load?'],
  [
    () => createMemoryLimits({ caller: 5 } as never),
    'createMemoryLimits: caller is not an option. Did you mean callers?',
  ],
  [() => openTelemetry({ event: true } as never), 'openTelemetry: event is not an option. Did you mean events?'],
  [() => createPair(echo, { fault: [] } as never), 'createPair: fault is not an option. Did you mean faults?'],
  [() => scripted([], { clok: 1 } as never), 'clok is not an option.'],
  [() => scripted([], { clock: 1 } as never), 'scripted: clock: expected a clock such as createVirtualClock(), got 1.'],
  [
    () => createMcpServer(echo as never, { maxResults: 5 } as never),
    'createMcpServer: maxResults is not an option. Did you mean maxResult?',
  ],
  [() => createReceiver({} as never), 'createReceiver: url: expected a non-empty string, got undefined.'],
  [
    () => createReceiver({ url: 'https://me.example.com', order: { waits: 1 } } as never),
    'createReceiver: order.waits is not an option. Did you mean wait?',
  ],
  [
    () => createMemoryRegistryStore({ capcity: 1 } as never),
    'createMemoryRegistryStore: capcity is not an option. Did you mean capacity?',
  ],
  [() => createRegistry({} as never), 'createRegistry: fetch: expected a function, got undefined.'],
  [() => createRegistry({ fetch, prob: {} } as never), 'createRegistry: prob is not an option. Did you mean probe?'],
  [() => serveRegistry({ prot: 1 } as never), 'serveRegistry: prot is not an option. Did you mean port?'],
  [() => servePeer({} as never), 'servePeer: card: expected a card with at least an agent_id'],
  [
    () => servePeer({ card: { agent_id: 'price-agent' }, method: {} } as never),
    'servePeer: method is not an option. Did you mean methods?',
  ],
  [
    () => serve(echo, { mesh: { agentid: 'a' } } as never),
    'serve: mesh.agentid is not an option. Did you mean agentId?',
  ],
  [() => serve((async () => 'x') as never), "serve(): agent: expected an agent such as agent({ name: 'Echo' }"],
  [() => serve({ '/a': {} } as never), 'serve(): the agent at the path "/a": expected an agent such as agent({'],
  [() => createHandler((() => 'x') as never, { auth: 'none' }), 'createHandler(): agent: expected an agent such as'],
  ...[fastifyPlugin, honoHandler, koaMiddleware, routeHandlers].map(
    (mount) =>
      [
        () => mount(echo as never),
        `${mount.name}(): handler: expected what createHandler(agent, options) returns, got an object with profile, run`,
      ] as const,
  ),
  [
    () => toListener(createHandler(echo, { auth: 'none' }) as never),
    'toListener(handler.exchange): expected a function, got an object with exchange, fetch',
  ],
  ...[undefined, null, 4000].map(
    (target) =>
      [
        () => connect(target as never),
        `Expected the URL of an agent, its card, or an agent of this process, got ${target}.`,
      ] as const,
  ),
  [() => createAgentLoop(undefined as never), 'createAgentLoop(options): expected an object, got undefined.'],
]

it.each(calls)('%s is refused: %s', async (call, message) => {
  await expect(async () => await call()).rejects.toThrow(message)
})

describe.each(Object.entries(optionCases))('%s', (_, { create, wrong }) => {
  it('an unknown option is refused by its name', async () => {
    await expect(async () => await create({ bogusOption: 1 })).rejects.toThrow(/bogusOption is not an option/)
  })

  it('an option with a wrong value is refused by its name, with what was expected', async () => {
    const [member = ''] = Object.keys(wrong)
    await expect(async () => await create(wrong)).rejects.toThrow(
      new RegExp(`expected .*\\b${member}\\b|\\b${member}\\b.*expected `),
    )
  })
})
