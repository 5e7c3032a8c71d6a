import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** The server that the development server forwards requests of the console to. */
const server = process.env.PARLEY_URL ?? 'http://localhost:4000'

const toServer = { target: server, rewrite: (url: string) => `/console${url}` }

export default defineConfig({
  root: path('.'),
  base: './',
  // The page names its files by their path on a server without a prefix. The server adds the prefix there, and scripts find
  // everything relative to themselves.
  experimental: {
    renderBuiltUrl: (file, { hostType }) => (hostType === 'html' ? `/console/${file}` : { relative: true }),
  },
  resolve: {
    alias: {
      'parley-a2a/client': path('../dist/client.js'),
      'parley-a2a/operator': path('../dist/operator.js'),
    },
    // Another workspace brings an older Preact to the root folder.
    dedupe: ['preact'],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: path('../dist/console'),
    emptyOutDir: true,
    target: ['chrome123', 'firefox128', 'safari18'],
    // Data URLs would need exceptions in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': toServer, '/a2a': toServer } },
})
