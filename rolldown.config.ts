import { readdirSync, readFileSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { defineConfig, type Plugin } from 'rolldown'

// Start-up time is the number of files that Node has to find and open: see docs/decisions/0008.

const names = readdirSync('src/entries')
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => file.replace(/\.ts$/, ''))

/** Entries that browsers load. Bundled apart, so that a page gets nothing that only servers need. */
const web = ['client', 'client-auth', 'client-compat', 'operator', 'react', 'ai-sdk-chat', 'ag-ui']

const sources = (entries: readonly string[]) =>
  Object.fromEntries(entries.map((name) => [name, resolve(`src/entries/${name}.ts`)]))

/** A source file with all files that it imports, except those that it loads on demand. */
function withImports(file: string, files = new Set<string>()): ReadonlySet<string> {
  if (files.has(file)) return files
  files.add(file)
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^'"`=;]*?from '(\.[^']+)'/gm)
  for (const [, path = ''] of imports) withImports(resolve(dirname(file), path), files)
  return files
}

const serverFiles = withImports(resolve('src/entries/index.ts'))
/** What an agent in a web framework needs. Bundlers of frameworks follow what `serve` loads on demand, such as `pg`. */
const handlerFiles = new Set(
  ['server.node', 'fastify', 'hono', 'koa', 'next', 'sqlite'].flatMap((name) => [
    ...withImports(resolve(`src/entries/${name}.ts`)),
  ]),
)
const clientFiles = withImports(resolve('src/entries/client.node.ts'))

/** What an agent on a platform without Node can load. Never in a chunk with a file that imports `node:*`. */
const portableFiles = new Set(
  ['server', 'server.workerd', 'cloudflare', 'auth', 'push', 'telemetry'].flatMap((name) => [
    ...withImports(resolve(`src/entries/${name}.ts`)),
  ]),
)

const isCommon = (id: string) => serverFiles.has(id) && clientFiles.has(id)
const isOfHandler = (id: string) => serverFiles.has(id) && handlerFiles.has(id)

/** Lets every entry refuse old Nodes when it is imported; the executable does so itself. It is the only side effect of the package. */
const refuseOldNodes: Plugin = {
  name: 'refuse-old-nodes',
  transform: {
    filter: { id: /src\/entries\/[^/]+\.ts$/ },
    handler: (code) => ({ code: `${code}\nimport '${resolve('src/core/base/node-version.ts')}'`, map: null }),
  },
}

const treeshake = { moduleSideEffects: [{ test: /src\/core\/base\/node-version\.ts$/, sideEffects: true }] }

/** Packages and Node's own modules are never bundled. */
const external = (id: string) => !id.startsWith('.') && !isAbsolute(id)

export default defineConfig([
  {
    input: {
      ...sources(names.filter((name) => !web.includes(name))),
      // On Node they share their chunks with the other entries.
      'client-auth.node': resolve('src/entries/client-auth.ts'),
      'client-compat.node': resolve('src/entries/client-compat.ts'),
      // The executable. Its commands are chunks that are loaded when they run.
      'cli/main': resolve('src/cli/main.ts'),
    },
    platform: 'neutral',
    external,
    plugins: [refuseOldNodes],
    treeshake,
    output: {
      dir: 'dist',
      format: 'esm',
      chunkFileNames: 'shared/[name].js',
      // Few files, because each costs time: what nearly every entry needs, what servers and clients share, the rest of a
      // handler, and the rest of a server.
      codeSplitting: {
        groups: [
          { name: 'base', test: /src\/core\/(base|protocol)\/|src\/core\/http\/(exchange|read-limited)/, priority: 5 },
          { name: 'common', test: (id) => isCommon(id) && portableFiles.has(id), priority: 4 },
          { name: 'common.node', test: isCommon, priority: 3 },
          { name: 'server', test: (id) => isOfHandler(id) && portableFiles.has(id), priority: 2 },
          { name: 'server.node', test: isOfHandler, priority: 1 },
          // Entries without Node must not load the rest of a server.
          { name: 'serve.portable', test: (id) => serverFiles.has(id) && portableFiles.has(id), priority: 0.5 },
          { name: 'serve', test: (id) => serverFiles.has(id), priority: 0 },
        ],
      },
    },
  },
  {
    input: sources(web),
    platform: 'neutral',
    external,
    output: { dir: 'dist', format: 'esm', chunkFileNames: 'client/[name].js' },
  },
])
