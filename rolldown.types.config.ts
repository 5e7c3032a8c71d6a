import { readdirSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { defineConfig, type Plugin } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import manifest from './package.json' with { type: 'json' }

// Bundles the declarations that `tsc -p tsconfig.build.json` wrote.
const declarations = 'node_modules/.cache/declarations/entries'

const names = readdirSync('src/entries')
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => file.replace(/\.ts$/, ''))

/** Types of an optional peer that is not installed become `any`, instead of an error in our declarations. */
const optionalPeerTypes: Plugin = {
  name: 'optional-peer-types',
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue
      file.code = file.code.replace(/^import .* from "([^".][^"]*)";$/gm, (line, name: string) =>
        name in manifest.peerDependenciesMeta ? `// @ts-ignore: an optional peer\n${line}` : line,
      )
    }
  },
}

export default defineConfig({
  input: Object.fromEntries(names.map((name) => [name, resolve(declarations, `${name}.d.ts`)])),
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
  plugins: [dts({ dtsInput: true, tsconfig: false }), optionalPeerTypes],
  output: { dir: 'dist', format: 'esm', chunkFileNames: 'types/[name].d.ts' },
})
