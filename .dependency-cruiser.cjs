/** The arrows: which room of src/ may import which. A room may always import itself; what is not listed is forbidden. */
const mayImport = {
  protocol: [],
  http: [],
  dialects: ['protocol'],
  tasks: ['protocol'],
  auth: ['protocol', 'http'],
  limits: ['protocol'],
  push: ['protocol', 'tasks', 'dialects', 'http', 'auth'],
  transports: ['protocol', 'dialects', 'http'],
  mesh: ['protocol', 'dialects', 'auth', 'http'],
  agent: ['protocol', 'tasks'],
  runtime: ['protocol', 'tasks', 'push', 'agent'],
  client: ['protocol', 'dialects', 'transports', 'auth', 'http'],
  loop: ['protocol', 'tasks', 'agent', 'client', 'http'],
  mcp: ['protocol', 'client'],
  bridge: ['protocol', 'dialects', 'agent', 'client', 'mesh', 'http'],
  telemetry: ['protocol'],
  server: [
    'protocol',
    'telemetry',
    'limits',
    'dialects',
    'transports',
    'mesh',
    'runtime',
    'agent',
    'auth',
    'push',
    'tasks',
    'http',
  ],
  registry: ['protocol', 'client', 'mesh', 'auth', 'http'],
  gateway: ['protocol', 'client', 'mesh', 'registry', 'server', 'auth', 'http'],
  stores: ['protocol', 'tasks'],
  testing: ['protocol', 'tasks', 'agent', 'client', 'server'],
  node: ['server', 'client', 'transports', 'registry', 'auth', 'protocol', 'http'],
}

/** Beyond the arrows above, `import type` only: a store sees these ports and none of their code. */
const mayImportTypes = {
  stores: ['push', 'registry', 'limits', 'mesh'],
}

/** The rims; everything else speaks `fetch` and runs where there is no Node. */
const mayImportNode = ['src/node/', 'src/stores/', 'src/cli/', 'src/serve.ts']

/** Users who need them bring them, and only these rooms may: everything else works without. */
const mayImportPeers = {
  '@ai-sdk/provider': ['loop'],
  '@modelcontextprotocol/client': ['loop'],
  '@modelcontextprotocol/server': ['mcp'],
  '@opentelemetry/api': ['telemetry'],
  pg: ['stores'],
  rxjs: ['loop'],
}
const peers = Object.keys(require('./package.json').peerDependencies)

const test = '[.]test[.]ts$'
const publicEntry = '/index[.]ts$'
const inside = (rooms) => `^src/(${rooms.join('|')})/`
const production = (path, ...except) => ({ path, pathNot: [test, ...except] })

const arrows = Object.entries(mayImport).map(([room, others]) => {
  const types = mayImportTypes[room] ?? []
  return {
    name: `arrows-of-${room}`,
    comment: `${room} may import only: ${[...others, ...types].join(', ') || 'nothing of ours'}.`,
    severity: 'error',
    from: production(inside([room])),
    to: { path: '^src/', pathNot: inside([room, ...others, ...types]) },
  }
})

const typeArrows = Object.entries(mayImportTypes).map(([room, others]) => ({
  name: `arrows-of-${room}-types-only`,
  comment: `${room} may import only types from: ${others.join(', ')}.`,
  severity: 'error',
  from: production(inside([room])),
  to: { path: inside(others), dependencyTypesNot: ['type-only'] },
}))

const unlisted = peers.filter((peer) => !mayImportPeers[peer])
if (unlisted.length > 0) throw new Error(`The rooms that may import ${unlisted.join(', ')} must be listed.`)

const peerArrows = peers.map((peer) => ({
  name: `rooms-of-${peer}`,
  comment: `Only these rooms may import ${peer}: ${mayImportPeers[peer].join(', ') || 'none'}.`,
  severity: 'error',
  from: production('^src/', ...(mayImportPeers[peer].length > 0 ? [inside(mayImportPeers[peer])] : [])),
  to: { path: `^node_modules/${peer}/` },
}))

module.exports = {
  forbidden: [
    ...arrows,
    ...typeArrows,
    ...peerArrows,
    {
      name: 'arrows-of-cli',
      comment: 'cli may import every room, by its public entry.',
      severity: 'error',
      from: production('^src/cli/'),
      to: { path: '^src/', pathNot: ['^src/cli/', publicEntry] },
    },
    {
      name: 'room-is-listed',
      comment: 'A new room needs a line in the table at the top of this file.',
      severity: 'error',
      from: production(
        '^src/',
        '^src/(index|serve|serve-options|local-agent|reach)[.]ts$',
        inside([...Object.keys(mayImport), 'cli']),
      ),
      to: {},
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
        pathNot: `^node_modules/(${peers.join('|')})/`,
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
