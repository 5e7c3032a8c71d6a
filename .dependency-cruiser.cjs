/**
 * Which folder of src/ may import which. A folder may always import itself; imports that are not listed are forbidden, and
 * a permission that nothing uses is an error. `serve/`, `entries/` and `cli/` are not in the table: see below.
 *
 * The core is three storeys, each of which imports only what is above it. It imports no product.
 */
const coreImports = {
  // What everything is made of.
  base: [],
  schema: ['base'],
  protocol: ['base'],
  http: ['base'],
  // The wire, and the parts of an agent.
  dialects: ['base', 'schema', 'protocol'],
  transports: ['base', 'schema', 'protocol', 'http', 'dialects'],
  tasks: ['base', 'protocol'],
  agent: ['base', 'protocol'],
  limits: ['base', 'protocol'],
  telemetry: ['base', 'protocol'],
  auth: ['base', 'protocol', 'http'],
  push: ['base', 'protocol', 'http', 'dialects', 'tasks', 'auth'],
  // The three makers of a service, and Node.
  runtime: ['base', 'protocol', 'tasks', 'push', 'agent'],
  client: ['base', 'protocol', 'http', 'dialects', 'transports', 'auth'],
  server: [
    ...['base', 'protocol', 'http', 'dialects', 'transports', 'tasks', 'limits', 'telemetry', 'auth', 'agent', 'push'],
    ...['runtime', 'client'],
  ],
  node: ['base', 'protocol', 'http', 'transports', 'client', 'server'],
}

/** The products: folders of the core first, then other products. */
const productImports = {
  stores: [['base', 'protocol', 'tasks'], []],
  mesh: [['base', 'schema', 'protocol', 'http', 'dialects', 'tasks', 'limits', 'agent', 'client'], []],
  registry: [['base', 'protocol', 'http', 'auth', 'client'], ['mesh']],
  loop: [['base', 'protocol', 'tasks', 'agent', 'client'], []],
  conformance: [['base', 'protocol', 'http', 'dialects', 'transports', 'auth', 'client'], []],
  operator: [['base', 'schema', 'protocol', 'http', 'dialects', 'transports', 'tasks', 'auth', 'server'], []],
  integrations: [
    ['base', 'protocol', 'http', 'transports', 'tasks', 'limits', 'agent', 'client', 'server', 'node'],
    ['stores'],
  ],
  gateway: [
    [
      ...['base', 'protocol', 'http', 'dialects', 'tasks', 'auth', 'limits', 'push', 'telemetry', 'agent', 'client'],
      ...['server', 'node'],
    ],
    ['stores', 'serve', 'registry', 'loop'],
  ],
  testing: [['base', 'protocol', 'tasks', 'agent', 'client', 'server'], ['registry']],
}

const inCore = (folders) => folders.map((folder) => `core/${folder}`)
const mayImport = Object.fromEntries([
  ...Object.entries(coreImports).map(([folder, others]) => [`core/${folder}`, inCore(others)]),
  ...Object.entries(productImports).map(([folder, [core, products]]) => [folder, [...inCore(core), ...products]]),
])

/** Folders whose types may be imported as well: a store sees these ports and none of their code. */
const mayImportTypes = {
  stores: ['core/push', 'core/limits', 'registry', 'mesh'],
  operator: ['core/push'],
  integrations: ['core/push'],
  testing: ['core/push', 'core/limits'],
  'core/node': ['core/agent'],
}

/** Everything else speaks `fetch` and runs where there is no Node. */
const mayImportNode = [
  'src/core/node/',
  'src/integrations/',
  'src/stores/',
  'src/serve/',
  'src/gateway/gateway.ts',
  'src/cli/',
]

/** Optional peers, with the folders that may import them: everything else works without. */
const mayImportPeers = {
  '@ag-ui/client': ['integrations'],
  '@ai-sdk/provider': ['loop'],
  '@google/adk': ['integrations'],
  '@langchain/core': ['integrations'],
  '@langchain/langgraph': ['integrations'],
  '@mastra/core': ['integrations'],
  '@modelcontextprotocol/client': ['loop'],
  '@modelcontextprotocol/server': ['loop'],
  '@openai/agents': ['integrations'],
  '@opentelemetry/api': ['core/telemetry'],
  '@strands-agents/sdk': ['integrations'],
  ai: ['integrations'],
  pg: ['stores', 'cli'],
  mysql2: ['cli'],
  react: ['integrations'],
  rxjs: ['loop', 'integrations'],
}
const peers = Object.keys(require('./package.json').peerDependencies)

const test = '[.]test[.]ts$'
const inside = (folders) => `^src/(${folders.join('|')})/`
const production = (path, ...except) => ({ path, pathNot: [test, ...except] })

const folderImports = Object.entries(mayImport).map(([folder, others]) => {
  const types = mayImportTypes[folder] ?? []
  return {
    name: `imports-of-${folder}`,
    comment: `${folder} may import only: ${[...others, ...types].join(', ') || 'nothing of ours'}.`,
    severity: 'error',
    from: production(inside([folder])),
    to: { path: '^src/', pathNot: inside([folder, ...others, ...types]) },
  }
})

const typeImports = Object.entries(mayImportTypes).map(([folder, others]) => ({
  name: `imports-of-${folder}-types-only`,
  comment: `${folder} may import only types from: ${others.join(', ')}.`,
  severity: 'error',
  from: production(inside([folder])),
  to: { path: inside(others), dependencyTypesNot: ['type-only'] },
}))

const unlisted = peers.filter((peer) => !mayImportPeers[peer])
if (unlisted.length > 0) throw new Error(`The folders that may import ${unlisted.join(', ')} must be listed.`)

const peerImports = peers.map((peer) => ({
  name: `folders-of-${peer}`,
  comment: `Only these folders may import ${peer}: ${mayImportPeers[peer].join(', ') || 'none'}.`,
  severity: 'error',
  from: production('^src/', ...(mayImportPeers[peer].length > 0 ? [inside(mayImportPeers[peer])] : [])),
  to: { path: `(^|/)node_modules/${peer}/` },
}))

module.exports = {
  forbidden: [
    ...folderImports,
    ...typeImports,
    ...peerImports,
    {
      name: 'imports-of-console',
      comment: 'The console uses the public client and the client of the operator API, like any other web application.',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^(src|test|scripts)/', pathNot: '^src/entries/(client|operator)[.]ts$' },
    },
    {
      name: 'pages-of-console',
      comment: 'A page is loaded on its own: what two pages need belongs into components/ or api/.',
      severity: 'error',
      from: { path: '^console/src/(pages/[^/]+)/' },
      to: { path: '^console/src/pages/', pathNot: '^console/src/$1/' },
    },
    {
      name: 'imports-of-cli',
      comment:
        'The command line uses the public entries, the model and its JSON, Node, the doctor, and what `parley serve` composes.',
      severity: 'error',
      from: production('^src/cli/'),
      to: {
        path: '^src/',
        pathNot: inside([
          'cli',
          'entries',
          'serve',
          'conformance',
          ...inCore(['base', 'protocol', 'dialects', 'node']),
        ]),
      },
    },
    {
      name: 'folder-is-listed',
      comment: 'A new folder needs a line in the table at the top of this file; no file stands loose in src/.',
      severity: 'error',
      from: production('^src/', inside([...Object.keys(mayImport), 'serve', 'cli', 'entries'])),
      to: {},
    },
    {
      name: 'entries-are-not-imported',
      comment: 'Entry points only re-export; source files import each other by path.',
      severity: 'error',
      from: production('^src/', '^src/(entries|cli)/'),
      to: { path: '^src/entries/' },
    },
    {
      name: 'server-transports-apart-from-client-transports',
      comment: 'The server and client halves of the transports do not import each other.',
      severity: 'error',
      from: production('^src/core/transports/server/'),
      to: { path: '^src/core/transports/client/' },
    },
    {
      name: 'client-transports-apart-from-server-transports',
      comment: 'The server and client halves of the transports do not import each other.',
      severity: 'error',
      from: production('^src/core/transports/client/'),
      to: { path: '^src/core/transports/server/' },
    },
    {
      name: 'client-dialects-apart-from-server-dialects',
      comment: 'The client half of a dialect must not pull in the server half.',
      severity: 'error',
      from: production('^src/core/dialects/[^/]+/client[.]ts$'),
      to: { path: '^src/core/dialects/[^/]+/server[.]ts$', reachable: true },
    },
    {
      name: 'no-cycles',
      comment: 'Files that import each other, even by types, are one idea in two places.',
      severity: 'error',
      from: production('^src/'),
      to: { circular: true },
    },
    {
      name: 'node-only-at-the-rims',
      comment: `Only ${mayImportNode.join(', ')} may import node:*.`,
      severity: 'error',
      from: production('^src/', `^(${mayImportNode.join('|')})`),
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'no-test-code-in-src',
      comment: 'What is published does not import what is not.',
      severity: 'error',
      from: production('^src/'),
      to: { path: ['^(test|bench|demo)/', test] },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'src may import only packages that users of the package get, and only what resolves.',
      severity: 'error',
      from: production('^src/'),
      to: {
        // The frameworks of the adapters are not installed here.
        pathNot: [`(^|/)node_modules/(${peers.join('|')})/`, `^(${peers.join('|')})(/|$)`],
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'node', 'default'] },
  },
}
