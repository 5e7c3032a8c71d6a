import { defineConfig } from 'rolldown'

// Start-up time is the number of files that Node has to find and open: see docs/decisions/0008.
const external = [
  /^node:/,
  /^@bufbuild\//,
  'ipaddr.js',
  'jose',
  'canonicalize',
  'rxjs',
  /^@modelcontextprotocol\//,
  /^@opentelemetry\//,
]

const rooms = defineConfig({
  input: {
    index: 'src/index.ts',
    'auth/index': 'src/auth/index.ts',
    'auth/card-signature/index': 'src/auth/card-signature/index.ts',
    'node/client-auth': 'src/client/credentials/index.ts',
    'node/client-1.0': 'src/node/client-1.0.ts',
    'node/client': 'src/node/client.ts',
    'node/grpc-client/index': 'src/node/grpc-client/index.ts',
    'node/guard/index': 'src/node/guard/index.ts',
    'loop/index': 'src/loop/index.ts',
    'mcp/index': 'src/mcp/index.ts',
    'mesh/index': 'src/mesh/index.ts',
    'bridge/index': 'src/bridge/index.ts',
    'registry/index': 'src/registry/index.ts',
    'node/registry': 'src/node/registry.ts',
    'server/index': 'src/server/index.ts',
    'stores/postgres/index': 'src/stores/postgres/index.ts',
    'telemetry/index': 'src/telemetry/index.ts',
    'testing/index': 'src/testing/index.ts',
    'stores/sqlite/index': 'src/stores/sqlite/index.ts',
  },
  platform: 'neutral',
  external,
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'shared/[name].js',
    minify: false,
    // What nearly every entry needs, and would be many small files.
    codeSplitting: { groups: [{ name: 'base', test: /src\/protocol\/|src\/http\/(exchange|read-limited)/ }] },
  },
})

/** What only one of the entries needs at first. */
const ownOfEntries =
  /src\/client\/(credentials\/|connect|index|pause|v1\.0)|dialects\/all-clients|http\/network-failure/

/** Apart, for browsers: whoever bundles it gets nothing that only servers need, and as few chunks as can be. */
const web = defineConfig({
  input: {
    'client/index': 'src/client/index.ts',
    'client/v1.0/index': 'src/client/v1.0/index.ts',
    'client/credentials/index': 'src/client/credentials/index.ts',
  },
  platform: 'neutral',
  external,
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'client/shared/[name].js',
    minify: false,
    // What both clients need at first is one file, so that bundlers need not cut it to pieces for what comes later.
    codeSplitting: { groups: [{ name: 'first', tags: ['$initial'], test: (id) => !ownOfEntries.test(id) }] },
  },
})

/** Apart, since it has what clients have, but is no part of them: what they share would be cut into chunks for both. */
const push = defineConfig({
  input: { 'push/index': 'src/push/index.ts' },
  platform: 'neutral',
  external,
  output: { dir: 'dist', format: 'esm', chunkFileNames: 'push/[name].js', minify: false },
})

export default [rooms, web, push]
