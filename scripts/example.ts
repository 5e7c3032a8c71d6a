import { cpSync, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Starts the example of an agent framework, and installs the frameworks before.
 *
 *     npm run example langgraph
 */
const root = resolve(import.meta.dirname, '..')
const name = process.argv[2] ?? ''
const source = join(root, 'examples', name)
if (name === '' || !existsSync(join(source, 'agent.js'))) {
  throw new Error(`Expected the name of a framework with examples/<name>/agent.js, got "${name}".`)
}
if (!existsSync(join(root, 'dist/index.js'))) throw new Error('Run `npm run build` first.')
await import('./install-frameworks.ts')

// Beside the frameworks, so that the example and the package find them.
const modules = join(root, 'test/frameworks/node_modules')
const target = join(modules, '.examples')
const packaged = join(target, 'node_modules/parley-a2a')
for (const each of ['dist', 'package.json']) cpSync(join(root, each), join(packaged, each), { recursive: true })
cpSync(join(root, 'examples/model.js'), join(target, 'model.js'))
cpSync(source, join(target, name), { recursive: true })
await import(pathToFileURL(join(target, name, 'agent.js')).href)
