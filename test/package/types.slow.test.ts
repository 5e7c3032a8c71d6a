import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createConsumer, entryNames } from '../support/package/consumer.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'

const isBuilt = existsSync(new URL('../../dist/index.d.ts', import.meta.url))

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: 'ES2022',
  module: 'NodeNext',
  types: ['node'],
}

/** Imports every entry, and uses the types that depend on optional peers. */
const everyEntry = [
  ...entryNames.map((name, index) => `import * as entry${index} from '${name}'`),
  `console.log(${entryNames.map((_, index) => `entry${index}`)})`,
].join('\n')

const oneAgent = `
  import { agent, serve, type Turn } from 'parley-a2a'
  import { connect } from 'parley-a2a/client'
  const echo = agent({ name: 'Echo' }, async (turn: Turn) => turn.text)
  const server = await serve(echo, { port: 0, grpc: true })
  const { text } = await (await connect(server.url)).send('Hello')
  // @ts-expect-error: a reply has a text
  const wrong: number = text
  // @ts-expect-error: an option that does not exist
  await serve(echo, { prot: 4000 })
`

const withOperators = `
  import { createAgentLoop } from 'parley-a2a/loop'
  import { tap } from 'rxjs'
  declare const model: Parameters<typeof createAgentLoop>[0]['model']
  createAgentLoop({ model, operators: [tap((event) => event.type satisfies 'status' | 'artifact')] })
  // @ts-expect-error: not a model of the AI SDK
  createAgentLoop({ model: 1 })
`

/** What a library exports that uses this package: the compiler has to name the types of these values in its declarations. */
const inferredExports = `
  import * as auth from 'parley-a2a/auth'
  import { agent, createHandler, createHost, createLogger, createMemoryLimits, createMemoryLog, serve, skill } from 'parley-a2a'
  import { connect, createCardCache } from 'parley-a2a/client'
  import * as credentials from 'parley-a2a/client/auth'
  import { A2AClientImpl } from 'parley-a2a/client/compat'
  import { fastifyPlugin } from 'parley-a2a/fastify'
  import { honoHandler } from 'parley-a2a/hono'
  import { koaMiddleware } from 'parley-a2a/koa'
  import { clientTool, createAgentLoop, localTool, mcpTools, remoteAgent, skillTool } from 'parley-a2a/loop'
  import { createMcpServer } from 'parley-a2a/mcp'
  import * as mesh from 'parley-a2a/mesh'
  import * as bridge from 'parley-a2a/mesh/bridge'
  import { routeHandlers } from 'parley-a2a/next'
  import * as node from 'parley-a2a/node'
  import { createOperatorClient } from 'parley-a2a/operator'
  import * as postgres from 'parley-a2a/postgres'
  import * as mysql from 'parley-a2a/mysql'
  import * as push from 'parley-a2a/push'
  import * as registry from 'parley-a2a/registry'
  import * as sqlite from 'parley-a2a/sqlite'
  import { observeClient, openTelemetry } from 'parley-a2a/telemetry'
  import { conformance, createPair, createVirtualClock, fault, scripted } from 'parley-a2a/testing'

  declare const pool: NonNullable<Parameters<typeof postgres.createPostgresLog>[0]['pool']>
  declare const model: Parameters<typeof createAgentLoop>[0]['model']
  declare const card: Parameters<typeof mesh.createMeshPeer>[0]['card']
  const schema = auth.custom({ card: { type: 'http', scheme: 'x' }, authenticate: async () => undefined as never })

  export const sum = skill({ id: 'sum', name: 'Sum', run: async (text) => text })
  export const echo = agent({ name: 'Echo', skills: [sum] })
  export const server = await serve(echo, { port: 0 })
  export const handler = createHandler(echo, { auth: 'none' })
  export const host = createHost()
  export const hosted = host.add(echo, { auth: 'none' })
  export const logger = createLogger()
  export const limits = createMemoryLimits()
  export const memoryLog = createMemoryLog()
  export const client = await connect(echo)
  export const other = await connect('https://agent.example.com')
  export const reply = await other.send('Hello')
  export const events = other.stream('Hello')
  export const conversation = other.conversation()
  export const explanation = other.explain()
  export const cards = createCardCache()
  export const schemes = [schema, auth.apiKey({ keys: [] }), auth.basic({ users: {} }), auth.mutualTls()]
  export const ring = auth.createKeyRing([])
  export const verifier = auth.createCardVerifier({})
  export const exchange = auth.tokenExchange({} as never)
  export const key = await auth.newSigningKey()
  export const bearer = credentials.bearer('token')
  export const flow = credentials.clientCredentials({ clientId: 'a', tokenUrl: 'https://a.example.com' } as never)
  export const compat = new A2AClientImpl('https://agent.example.com')
  export const plugin = fastifyPlugin(handler)
  export const forHono = honoHandler(handler)
  export const forKoa = koaMiddleware(handler)
  export const { GET, POST } = routeHandlers(handler)
  export const loop = createAgentLoop({ model })
  export const local = localTool({ name: 'a', description: 'a', run: () => 'a' } as never)
  export const tool = clientTool({} as never)
  export const remote = remoteAgent('https://agent.example.com')
  export const ofSkill = skillTool(sum)
  export const mcp = mcpTools({ url: 'https://mcp.example.com' })
  export const mcpServer = createMcpServer(echo)
  export const peer = mesh.createMeshPeer({ card })
  export const keys = await mesh.configuredKeys({})
  export const first = mesh.firstHandshakeKeys()
  export const lookedUp = mesh.lookedUpKeys({ lookUp: async () => [] })
  export const meshKey = await mesh.generateSigningKey()
  export const rateLimit = mesh.createRateLimit({ limit: 1, window: 1 } as never)
  export const replays = mesh.createReplayCache()
  export const methods = bridge.a2aMethods({} as never)
  export const meshCard = bridge.meshCardOf({} as never, {} as never)
  export const principal = bridge.meshPrincipal()
  export const service = bridge.meshService({} as never)
  export const asAgent = bridge.meshAgent({} as never)
  export const guarded = node.createGuardedFetch()
  export const pushFetch = node.createPushFetch()
  export const grpc = node.grpc()
  export const listener = node.toListener(handler.exchange)
  export const peerServer = await node.servePeer({ card } as never)
  export const registryServer = await node.serveRegistry()
  export const operator = createOperatorClient({ url: 'http://localhost:4000/console' })
  export const postgresLog = postgres.createPostgresLog({ pool })
  export const mysqlLog = mysql.createMysqlLog({ pool } as never)
  export const mysqlLimits = mysql.createMysqlLimits({ pool } as never)
  export const mysqlRegistry = mysql.createMysqlRegistryStore({ pool } as never)
  export const postgresLimits = postgres.createPostgresLimits({ pool } as never)
  export const postgresRegistry = postgres.createPostgresRegistryStore({ pool } as never)
  export const postgresReplays = postgres.createPostgresReplayCache({ pool } as never)
  export const postgresAdmin = postgres.createPostgresAdmin({ pool } as never)
  export const receiver = push.createReceiver({ url: 'https://me.example.com' })
  export const memory = push.createDeliveryMemory()
  export const signer = push.pushSigner({} as never)
  export const directory = registry.createRegistry({ fetch: guarded })
  export const entries = registry.createMemoryRegistryStore()
  export const exchangeOfRegistry = registry.createRegistryExchange(directory)
  export const found = await directory.search()
  export const sqliteLog = sqlite.createSqliteLog({ file: 'a.db' })
  export const sqliteRegistry = sqlite.createSqliteRegistryStore({ file: 'a.db' } as never)
  export const sqliteAdmin = sqlite.createSqliteAdmin({ file: 'a.db' } as never)
  export const stats = await sqliteAdmin.stats()
  export const telemetry = openTelemetry()
  export const observe = observeClient(telemetry)
  export const report = await conformance('https://agent.example.com')
  export const pair = await createPair(echo)
  export const clock = createVirtualClock()
  export const cut = fault.cut(1)
  export const script = scripted([])
`

const peers = ['@ai-sdk/provider', '@modelcontextprotocol/client', '@opentelemetry/api', 'rxjs']

describe.skipIf(!isBuilt || !hasPrograms)('the types of the built package', { timeout: 240_000 }, () => {
  it.each(['typescript-5.4', 'typescript', 'typescript-7'] as const)(
    'every entry compiles with skipLibCheck: false and without optional peers: %s',
    async (version) => {
      expect(await compile(version, [], { 'entries.ts': everyEntry, 'agent.ts': oneAgent })).toBe('')
    },
  )

  it('a library can export what every creator returns, with its type inferred', async () => {
    const declarations = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: 'declarations' }
    expect(await compile('typescript-7', peers, { 'library.ts': inferredExports }, declarations)).toBe('')
  })

  it('the types of optional peers are used where they are installed', async () => {
    expect(await compile('typescript-7', peers, { 'entries.ts': everyEntry, 'loop.ts': withOperators })).toBe('')
  })
})

type Compiler = 'typescript' | 'typescript-5.4' | 'typescript-7'

/** Returns the errors of the compiler. */
async function compile(
  compiler: Compiler,
  packages: readonly string[],
  files: Readonly<Record<string, string>>,
  moreOptions: object = {},
) {
  const tsc =
    compiler === 'typescript'
      ? createRequire(import.meta.url).resolve('typescript/bin/tsc')
      : await programPath(compiler)
  // The declarations of some peers have errors of their own.
  const options = { ...compilerOptions, skipLibCheck: packages.length > 0, ...moreOptions }
  const tsconfig = JSON.stringify({ compilerOptions: options, files: Object.keys(files) })
  const project = await createConsumer(['@types/node', ...packages], { ...files, 'tsconfig.json': tsconfig })
  const compiling = promisify(execFile)(process.execPath, [tsc, '-p', project], { cwd: project })
  return compiling.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
}
