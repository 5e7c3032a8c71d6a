/** Which folder of src/ may import which. A folder may always import itself; imports that are not listed are forbidden. */
const mayImport = {
  base: [],
  schema: ['base'],
  protocol: ['base'],
  http: ['base'],
  dialects: ['base', 'schema', 'protocol'],
  tasks: ['base', 'protocol'],
  limits: ['base', 'protocol'],
  telemetry: ['base', 'protocol'],
  auth: ['base', 'protocol', 'http'],
  agent: ['base', 'protocol', 'tasks'],
  push: ['base', 'schema', 'protocol', 'http', 'dialects', 'tasks', 'auth'],
  transports: ['base', 'schema', 'protocol', 'http', 'dialects'],
  mesh: ['base', 'schema', 'protocol', 'http', 'dialects', 'auth', 'limits'],
  runtime: ['base', 'protocol', 'tasks', 'push', 'agent'],
  client: ['base', 'schema', 'protocol', 'http', 'dialects', 'transports', 'auth'],
  loop: ['base', 'protocol', 'http', 'tasks', 'agent', 'client'],
  mcp: ['base', 'protocol', 'client'],
  'mesh-bridge': ['base', 'schema', 'protocol', 'http', 'dialects', 'agent', 'client', 'mesh'],
  server: [
    'base',
    'schema',
    'protocol',
    'http',
    'dialects',
    'tasks',
    'limits',
    'telemetry',
    'auth',
    'agent',
    'push',
    'transports',
    'mesh',
    'runtime',
  ],
  registry: ['base', 'protocol', 'http', 'auth', 'client', 'mesh'],
  gateway: ['base', 'protocol', 'client', 'mesh', 'registry', 'server', 'auth', 'tasks', 'http'],
  stores: ['base', 'protocol', 'tasks'],
  conformance: ['base', 'protocol', 'dialects', 'transports', 'client', 'http'],
  testing: ['base', 'protocol', 'tasks', 'agent', 'client', 'server'],
  integrations: ['http', 'node'],
  node: ['base', 'protocol', 'http', 'auth', 'transports', 'client', 'mesh', 'server', 'registry'],
}

/** Folders whose types may be imported as well: a store sees these ports and none of their code. */
const mayImportTypes = {
  stores: ['push', 'registry', 'limits', 'mesh'],
}

/** Everything else speaks `fetch` and runs where there is no Node. */
const mayImportNode = [
  'src/node/',
  'src/integrations/',
  'src/stores/',
  'src/cli/',
  'src/serve.ts',
  'src/serve-records.ts',
  'src/serve-stores.ts',
]

/** Optional peers, with the folders that may import them: everything else works without. */
const mayImportPeers = {
  '@ai-sdk/provider': ['loop'],
  '@modelcontextprotocol/client': ['loop'],
  '@modelcontextprotocol/server': ['mcp'],
  '@opentelemetry/api': ['telemetry'],
  pg: ['stores', 'cli'],
  rxjs: ['loop'],
}
const peers = Object.keys(require('./package.json').peerDependencies)

const test = '[.]test[.]ts$'
const publicEntry = '^src/entries/'
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
        'cli may import only the public entries, the model and its JSON (base, protocol, dialects), and node, whose entry loads much more.',
      severity: 'error',
      from: production('^src/cli/'),
      to: { path: '^src/', pathNot: [inside(['cli', 'base', 'protocol', 'dialects', 'node']), publicEntry] },
    },
    {
      name: 'folder-is-listed',
      comment: 'A new folder needs a line in the table at the top of this file.',
      severity: 'error',
      from: production(
        '^src/',
        '^src/(serve|serve-console|serve-options|serve-environment|serve-mounts|serve-records|serve-start|serve-stores|local-agent|local-agent[.]node)[.]ts$',
        inside([...Object.keys(mayImport), 'cli', 'entries']),
      ),
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
      from: production('^src/transports/server/'),
      to: { path: '^src/transports/client/' },
    },
    {
      name: 'client-transports-apart-from-server-transports',
      comment: 'The server and client halves of the transports do not import each other.',
      severity: 'error',
      from: production('^src/transports/client/'),
      to: { path: '^src/transports/server/' },
    },
    {
      name: 'client-dialects-apart-from-server-dialects',
      comment: 'The client half of a dialect must not pull in the server half.',
      severity: 'error',
      from: production('^src/dialects/[^/]+/client[.]ts$'),
      to: { path: '^src/dialects/[^/]+/server[.]ts$', reachable: true },
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
        pathNot: `(^|/)node_modules/(${peers.join('|')})/`,
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
