import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { argv, env, execPath, exit, stderr } from 'node:process'

/**
 * Builds Parley if a source has changed since the last build, and prints the output of the build only if it fails.
 *
 *     node scripts/build-if-needed.ts [directory]
 */
const root = resolve(argv[2] ?? '')

/** A build writes all of them, the first one early and the last one at its end. A build that failed lacks one. */
const outputs = ['dist/index.js', 'dist/index.d.ts', 'dist/console/index.html', 'schemas/dist/typescript/index.js']

const sources = [
  ...['src', 'proto', 'scripts/clean.ts', 'package.json', 'package-lock.json', 'rolldown.config.ts'],
  ...['tsconfig.json', 'tsconfig.build.json'],
  ...['console/src', 'console/public', 'console/index.html', 'console/vite.config.ts', 'console/package.json'],
  ...['schemas/typescript', 'schemas/tsconfig.json', 'schemas/package.json'],
]

if (!isCurrent()) build()

function isCurrent(): boolean {
  const built = outputs.map((path) => resolve(root, path))
  if (!built.every((path) => existsSync(path))) return false
  const oldest = Math.min(...built.map((path) => statSync(path).mtimeMs))
  return sources.every((path) => newestIn(resolve(root, path)) <= oldest)
}

/** When a file, or anything in a folder, changed last. A folder changes when a file is added or removed. */
function newestIn(path: string): number {
  if (!existsSync(path)) return 0
  const stats = statSync(path)
  if (!stats.isDirectory()) return stats.mtimeMs
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestIn(resolve(path, name))))
}

function build(): void {
  stderr.write('Building Parley (once, and after changes) … ')
  const startedAt = performance.now()
  const npm = env.npm_execpath
  const args = ['run', '--silent', 'build']
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  const {
    status,
    stdout,
    stderr: errors,
    error,
  } = npm
    ? spawnSync(execPath, [npm, ...args], options)
    : spawnSync(`npm ${args.join(' ')}`, { ...options, shell: true })
  if (status === 0) {
    stderr.write(`done in ${Math.round((performance.now() - startedAt) / 1000)} s.\n`)
    return
  }
  stderr.write(`failed.\n\n${stdout ?? ''}${errors ?? ''}${error ? `${error.message}\n` : ''}`)
  exit(status ?? 1)
}
