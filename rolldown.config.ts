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
    'entries/index': 'src/entries/index.ts',
    'entries/auth': 'src/entries/auth.ts',
    'entries/client-auth.node': 'src/entries/client-auth.ts',
    'node/client-1.0': 'src/node/client-1.0.ts',
    'entries/client.node': 'src/entries/client.node.ts',
    'node/grpc-client': 'src/node/grpc-client.ts',
    'entries/guard': 'src/entries/guard.ts',
    'entries/loop': 'src/entries/loop.ts',
    'entries/mcp': 'src/entries/mcp.ts',
    'entries/mesh': 'src/entries/mesh.ts',
    'entries/mesh-bridge': 'src/entries/mesh-bridge.ts',
    'entries/registry': 'src/entries/registry.ts',
    'node/serve-registry': 'src/node/serve-registry.ts',
    'entries/server': 'src/entries/server.ts',
    'entries/postgres': 'src/entries/postgres.ts',
    'entries/telemetry': 'src/entries/telemetry.ts',
    'entries/testing': 'src/entries/testing.ts',
    'entries/sqlite': 'src/entries/sqlite.ts',
  },
  platform: 'neutral',
  external,
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'shared/[name].js',
    minify: false,
    // What nearly every entry needs, and would be many small files.
    codeSplitting: { groups: [{ name: 'base', test: /src\/(base|protocol)\/|src\/http\/(exchange|read-limited)/ }] },
  },
})

/** Apart, for browsers: whoever bundles it gets nothing that only servers need. */
const web = defineConfig({
  input: {
    'entries/client': 'src/entries/client.ts',
    'client/v1.0/index': 'src/client/v1.0/index.ts',
    'entries/client-auth': 'src/entries/client-auth.ts',
  },
  platform: 'neutral',
  external,
  output: { dir: 'dist', format: 'esm', chunkFileNames: 'client/shared/[name].js', minify: false },
})

/** Apart, since it has what clients have, but is no part of them: what they share would be cut into chunks for both. */
const push = defineConfig({
  input: { 'entries/push': 'src/entries/push.ts' },
  platform: 'neutral',
  external,
  output: { dir: 'dist', format: 'esm', chunkFileNames: 'push/[name].js', minify: false },
})

export default [rooms, web, push]
