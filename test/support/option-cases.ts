import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { adk } from '../../src/entries/adk.ts'
import { A2AAgent } from '../../src/entries/ag-ui.ts'
import { aiSdk, asTool } from '../../src/entries/ai-sdk.ts'
import { A2AChatTransport } from '../../src/entries/ai-sdk-chat.ts'
import * as auth from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import * as credentials from '../../src/entries/client-auth.ts'
import { A2AClientImpl } from '../../src/entries/client-compat.ts'
import { createWorker } from '../../src/entries/cloudflare.ts'
import * as gateway from '../../src/entries/gateway.ts'
import {
  agent,
  createHandler,
  createHost,
  createLogger,
  createMemoryLimits,
  createMemoryLog,
  createSqliteLog,
  serve,
  skill,
  skillTypesOf,
} from '../../src/entries/index.ts'
import { lambdaHandler } from '../../src/entries/lambda.ts'
import { langgraph } from '../../src/entries/langgraph.ts'
import * as loop from '../../src/entries/loop.ts'
import { AgentLoop } from '../../src/entries/loop-compat.ts'
import { mastra } from '../../src/entries/mastra.ts'
import { createMcpServer } from '../../src/entries/mcp.ts'
import * as mesh from '../../src/entries/mesh.ts'
import * as bridge from '../../src/entries/mesh-bridge.ts'
import * as mysql from '../../src/entries/mysql.ts'
import * as node from '../../src/entries/node.ts'
import { openaiAgents } from '../../src/entries/openai-agents.ts'
import { createOperatorClient } from '../../src/entries/operator.ts'
import * as postgres from '../../src/entries/postgres.ts'
import * as push from '../../src/entries/push.ts'
import { useAgent } from '../../src/entries/react.ts'
import * as registry from '../../src/entries/registry.ts'
import * as sqlite from '../../src/entries/sqlite.ts'
import { strands } from '../../src/entries/strands.ts'
import { openTelemetry } from '../../src/entries/telemetry.ts'
import { conformance, createPair, proxyConformance, scripted } from '../../src/entries/testing.ts'
import { scriptedModel } from './models/scripted-model.ts'

/** Calls a creator with valid options and these. JavaScript callers can pass anything, so the types are left out. */
type Create = (more: object) => unknown

interface OptionCase {
  readonly create: Create
  /** An option of the creator with a value that it does not accept. */
  readonly wrong: Readonly<Record<string, unknown>>
}

const echo = agent({ name: 'Echo' }, ({ text }) => text)
const ruledCall = { principal: { id: 'ada' }, agent: 'one', operation: 'getTask' } as const
const pool = { query() {}, connect() {}, on() {} }
const mysqlPool = { execute() {}, getConnection() {} } as never
const file = '/tmp/never-created.db'
const url = 'http://127.0.0.1:1'
const input = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } }
const exchange = async () => ({ status: 200, headers: {} })
const card = { agent_id: 'price-agent' }
const agentCard = { name: 'Echo', description: '', version: '1.0.0', skills: [], capabilities: {} }
const link = { request() {} }
const key = await auth.newSigningKey()

/** A React component that passes its properties on as options. */
function Conversation(more: object) {
  useAgent({ agent: url, ...more })
  return null
}

/** One case per exported function that takes options, by its name: `test/package/public-api.test.ts` compares the names. */
export const optionCases: Readonly<Record<string, OptionCase>> = {
  adk: { create: (more) => adk({ name: 'assistant' }, more), wrong: { skills: 1 } },
  mastra: {
    create: (more) => mastra({ stream() {}, resumeStream() {} } as never, more),
    wrong: { stream: 1 },
  },
  strands: {
    create: (more) => strands(() => ({ tools: [], takeSnapshot() {} }) as never, more),
    wrong: { reasoning: 1 },
  },
  A2AAgent: { create: (more) => new A2AAgent({ agent: url, ...more }), wrong: { storage: 1 } },
  A2AChatTransport: { create: (more) => new A2AChatTransport({ agent: url, ...more }), wrong: { cancelOnStop: 1 } },
  useAgent: { create: (more) => renderToString(createElement(Conversation, more)), wrong: { id: 1 } },
  aiSdk: { create: (more) => aiSdk({ stream: async () => ({}) }, more), wrong: { structured: 1 } },
  asTool: { create: (more) => asTool(link as never, more), wrong: { timeout: '1s' } },
  langgraph: {
    create: (more) => langgraph({ stream: async () => link as never, getState: async () => ({ values: {} }) }, more),
    wrong: { reasoning: 1 },
  },
  openaiAgents: { create: (more) => openaiAgents({ name: 'Assistant' }, more), wrong: { runner: 1 } },
  apiKey: { create: (more) => auth.apiKey({ keys: [], ...more }), wrong: { keys: 1 } },
  basic: { create: (more) => auth.basic({ users: {}, ...more }), wrong: { users: 1 } },
  custom: {
    create: (more) => auth.custom({ card: { type: 'http', scheme: 'x' }, authenticate() {}, ...more } as never),
    wrong: { authenticate: 1 },
  },
  mutualTls: { create: (more) => auth.mutualTls({ ...more }), wrong: { trustDomain: 1 } },
  jwt: { create: (more) => auth.jwt({ issuer: url, audience: 'a', keys: [], ...more } as never), wrong: { issuer: 1 } },
  oauth2: {
    create: (more) =>
      auth.oauth2({ flow: { type: 'client-credentials', tokenUrl: url, scopes: {} }, jwt: {}, ...more } as never),
    wrong: { metadataUrl: 1 },
  },
  openId: { create: (more) => auth.openId({ issuer: url, audience: 'a', ...more } as never), wrong: { audience: 1 } },
  createCardVerifier: { create: (more) => auth.createCardVerifier({ keys: [], ...more }), wrong: { jwks: 'x' } },
  createKeyRing: { create: (more) => auth.createKeyRing(key, more), wrong: { keepFor: '1 day' } },
  tokenExchange: {
    create: (more) =>
      auth.tokenExchange({ tokenUrl: 'https://a.example.com', clientId: 'a', clientSecret: 'b', ...more }),
    wrong: { target: 'x' },
  },
  authorizationCode: {
    create: (more) =>
      credentials.authorizationCode({ clientId: 'a', redirectUri: url, authorize() {}, ...more } as never),
    wrong: { clientId: 1 },
  },
  clientCredentials: {
    create: (more) => credentials.clientCredentials({ clientId: 'a', ...more } as never),
    wrong: { clientId: 1 },
  },
  deviceCode: {
    create: (more) => credentials.deviceCode({ clientId: 'a', onPrompt() {}, ...more } as never),
    wrong: { onPrompt: 1 },
  },
  apiKeyCredentials: { create: (more) => credentials.apiKeyCredentials('key', more), wrong: { in: 'body' } },
  basicCredentials: {
    create: (more) => credentials.basicCredentials({ username: 'a', password: 'b', ...more }),
    wrong: { username: 1 },
  },
  connect: { create: (more) => connect(url, more), wrong: { timeout: '10s' } },
  A2AClientImpl: { create: (more) => new A2AClientImpl(url, undefined, more), wrong: { timeout: '10s' } },
  agent: { create: (more) => agent({ name: 'Echo', ...more }, () => ''), wrong: { recovery: 'x' } },
  skill: { create: (more) => skill({ id: 'sum', name: 'Sum', run: () => '', ...more }), wrong: { tags: 'x' } },
  skillTypesOf: { create: (more) => skillTypesOf(agentCard, more), wrong: { name: 1 } },
  serve: { create: (more) => serve(echo, more), wrong: { port: '4000x' } },
  createHandler: { create: (more) => createHandler(echo, { auth: 'none', ...more }), wrong: { http: 1 } },
  createWorker: { create: (more) => createWorker(echo, { auth: 'none', ...more }), wrong: { binding: 1 } },
  lambdaHandler: {
    create: (more) => lambdaHandler(echo, { auth: 'none', log: createMemoryLog(), ...more }),
    wrong: { http: 1 },
  },
  createHost: { create: (more) => createHost(more), wrong: { grpc: 'x' } },
  createLogger: { create: (more) => createLogger(more), wrong: { level: 'x' } },
  createMemoryLimits: { create: (more) => createMemoryLimits(more), wrong: { callers: 'x' } },
  createMemoryLog: { create: (more) => createMemoryLog(more), wrong: { keepEnded: -1 } },
  createSqliteLog: { create: (more) => createSqliteLog({ file, ...more }), wrong: { patience: 'x' } },
  createAgentLoop: {
    create: (more) => loop.createAgentLoop({ model: scriptedModel(), ...more }),
    wrong: { maxSteps: 'x' },
  },
  AgentLoop: { create: (more) => new AgentLoop({ model: scriptedModel(), ...more }), wrong: { maxSteps: 'x' } },
  localTool: {
    create: (more) => loop.localTool({ name: 'a', input, run() {}, ...more } as never),
    wrong: { timeout: 'x' },
  },
  clientTool: { create: (more) => loop.clientTool({ name: 'a', input, ...more } as never), wrong: { sensitive: 1 } },
  remoteAgent: { create: (more) => loop.remoteAgent(url, more), wrong: { relay: 'x' } },
  mcpAgent: { create: (more) => loop.mcpAgent({ url }, more), wrong: { maxTools: 'x' } },
  mcpTools: { create: (more) => loop.mcpTools({ url }, more), wrong: { maxTools: 'x' } },
  partsResult: { create: (more) => loop.partsResult([], more), wrong: { isError: 1 } },
  createMcpServer: { create: (more) => createMcpServer(echo, more), wrong: { maxResult: 'x' } },
  createMeshPeer: {
    create: (more) => mesh.createMeshPeer({ card, requireAuth: false, ...more } as never),
    wrong: { timeout: '10s' },
  },
  createRateLimit: { create: (more) => mesh.createRateLimit({ limit: 1, window: 1, ...more }), wrong: { window: 'x' } },
  createReplayCache: { create: (more) => mesh.createReplayCache(more), wrong: { capacity: 'x' } },
  configuredKeys: { create: (more) => mesh.configuredKeys({}, more), wrong: { allowPkcs1: 1 } },
  firstHandshakeKeys: { create: (more) => mesh.firstHandshakeKeys(more), wrong: { capacity: 'x' } },
  lookedUpKeys: { create: (more) => mesh.lookedUpKeys({ lookUp: async () => [], ...more }), wrong: { ttl: 'x' } },
  registryKeys: { create: (more) => mesh.registryKeys(() => link as never, more), wrong: { ttl: 'x' } },
  importPublicKey: { create: (more) => mesh.importPublicKey('', more), wrong: { allowPkcs1: 1 } },
  a2aMethods: {
    create: (more) => bridge.a2aMethods({ service: { sendMessage() {} }, ...more } as never),
    wrong: { patience: 'x' },
  },
  meshAgent: {
    create: (more) => bridge.meshAgent({ link, profile: echo.profile, askOf() {}, ...more } as never),
    wrong: { answerAs: 'x' },
  },
  meshCardOf: { create: (more) => bridge.meshCardOf(agentCard, more), wrong: { agentId: 1 } },
  meshPrincipal: { create: (more) => bridge.meshPrincipal(more), wrong: { allowsAnonymous: 1 } },
  meshService: { create: (more) => bridge.meshService({ link, ...more } as never), wrong: { minDelay: 'x' } },
  grpc: { create: (more) => node.grpc(more), wrong: { keepAlive: 'x' } },
  createGuardedFetch: { create: (more) => node.createGuardedFetch(more), wrong: { loopback: 'x' } },
  createPushFetch: { create: (more) => node.createPushFetch(more), wrong: { timeout: 'x' } },
  toListener: { create: (more) => node.toListener(exchange, more), wrong: { unreadTimeout: 'x' } },
  servePeer: { create: (more) => node.servePeer({ card, ...more } as never), wrong: { port: 'x' } },
  serveRegistry: { create: (more) => node.serveRegistry(more), wrong: { port: 'x' } },
  createOperatorClient: { create: (more) => createOperatorClient({ url, ...more }), wrong: { headers: 1 } },
  createMysqlLog: { create: (more) => mysql.createMysqlLog({ pool: mysqlPool, ...more }), wrong: { patience: 'x' } },
  createMysqlAdmin: {
    create: (more) => mysql.createMysqlAdmin({ pool: mysqlPool, ...more }),
    wrong: { patience: 'x' },
  },
  createMysqlLimits: {
    create: (more) => mysql.createMysqlLimits({ pool: mysqlPool, ...more }),
    wrong: { placeTtl: 'x' },
  },
  createMysqlOwnership: {
    create: (more) => mysql.createMysqlOwnership({ pool: mysqlPool, ...more }),
    wrong: { prefix: 1 },
  },
  createMysqlRegistryStore: {
    create: (more) => mysql.createMysqlRegistryStore({ pool: mysqlPool, ...more }),
    wrong: { pollInterval: 'x' },
  },
  createMysqlReplayCache: {
    create: (more) => mysql.createMysqlReplayCache({ pool: mysqlPool, ...more }),
    wrong: { capacity: 'x' },
  },
  createPostgresLog: {
    create: (more) => postgres.createPostgresLog({ pool, ...more } as never),
    wrong: { patience: 'x' },
  },
  createFailoverPool: {
    create: async (more) => postgres.createFailoverPool({ pools: [pool], ...more } as never),
    wrong: { pools: 'x' },
  },
  createPostgresAdmin: {
    create: (more) => postgres.createPostgresAdmin({ pool, ...more } as never),
    wrong: { patience: 'x' },
  },
  createPostgresLimits: {
    create: (more) => postgres.createPostgresLimits({ pool, ...more } as never),
    wrong: { placeTtl: 'x' },
  },
  createPostgresRegistryStore: {
    create: (more) => postgres.createPostgresRegistryStore({ pool, ...more } as never),
    wrong: { capacity: 'x' },
  },
  createGateway: {
    create: (more) => gateway.createGateway({ agents: { one: 'https://agent.example' }, ...more } as never),
    wrong: { keepRecords: 'x' },
  },
  explainRule: {
    create: (more) => gateway.explainRule({ agents: { one: 'https://agent.example' }, ...more } as never, ruledCall),
    wrong: { rules: 'x' },
  },
  createPostgresOwnership: {
    create: (more) => postgres.createPostgresOwnership({ pool, ...more } as never),
    wrong: { schema: 1 },
  },
  createSqliteOwnership: { create: (more) => sqlite.createSqliteOwnership({ file, ...more }), wrong: { driver: 1 } },
  createPostgresReplayCache: {
    create: (more) => postgres.createPostgresReplayCache({ pool, ...more } as never),
    wrong: { capacity: 'x' },
  },
  createReceiver: {
    create: (more) => push.createReceiver({ url: 'https://me.example.com', ...more }),
    wrong: { maxAge: 'x' },
  },
  createDeliveryMemory: { create: (more) => push.createDeliveryMemory(more), wrong: { capacity: 'x' } },
  pushSigner: {
    create: (more) => push.pushSigner({ keys: key, issuer: 'https://me.example.com', ...more }),
    wrong: { form: 'x' },
  },
  createRegistry: {
    create: (more) => registry.createRegistry({ fetch: node.createGuardedFetch(), ...more }),
    wrong: { logger: 1 },
  },
  createMemoryRegistryStore: { create: (more) => registry.createMemoryRegistryStore(more), wrong: { capacity: 'x' } },
  createRegistryExchange: {
    create: (more) => registry.createRegistryExchange({} as never, more),
    wrong: { heartbeat: 'x' },
  },
  createSqliteRegistryStore: {
    create: (more) => sqlite.createSqliteRegistryStore({ file, ...more }),
    wrong: { capacity: 'x' },
  },
  createSqliteAdmin: { create: (more) => sqlite.createSqliteAdmin({ file, ...more }), wrong: { driver: 1 } },
  restoreSqliteLog: {
    create: (more) => sqlite.restoreSqliteLog({ file, backup: file, ...more }),
    wrong: { overwrite: 1 },
  },
  openTelemetry: { create: (more) => openTelemetry(more), wrong: { events: 1 } },
  conformance: { create: (more) => conformance(url, more), wrong: { timeout: 'x' } },
  proxyConformance: { create: (more) => proxyConformance(url, url, more), wrong: { timeout: 'x' } },
  createPair: { create: (more) => createPair(echo, more), wrong: { faults: 1 } },
  scripted: { create: (more) => scripted([], more), wrong: { clock: 1 } },
}
