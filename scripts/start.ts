import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { argv, env, execPath, exit, stderr } from 'node:process'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

/**
 * Builds what the demo runs, if a source has changed since the last build, and starts the demo. Declarations are left out: they take
 * most of the time of `npm run build`.
 *
 *     node scripts/start.ts [directory]
 */
const root = resolve(argv[2] ?? '')

/** The scripts of a build, and a file that each of them writes. */
const steps = [
  { name: 'code', script: 'build:code', output: 'dist/index.js' },
  { name: 'console', script: 'build:console', output: 'dist/console/index.html' },
]

const sources = [
  ...['src', 'proto', 'scripts/clean.ts', 'package.json', 'package-lock.json', 'rolldown.config.ts'],
  ...['console/src', 'console/public', 'console/index.html', 'console/vite.config.ts', 'console/package.json'],
]

if (env.npm_lifecycle_event) endWithParent()
if (!isCurrent()) await build()
await import(pathToFileURL(resolve(root, 'demo/main.ts')).href)

/** npm passes SIGTERM to the shell of the script, and most shells end without passing it on. */
function endWithParent(): void {
  const parent = process.ppid
  const check = () => process.ppid !== parent && process.kill(process.pid, 'SIGTERM')
  setInterval(check, 250).unref()
}

function isCurrent(): boolean {
  const built = steps.map(({ output }) => resolve(root, output))
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

async function build(): Promise<void> {
  stderr.write('Building Parley (once, and after changes): ')
  const startedAt = performance.now()
  for (const { name, script } of steps) {
    stderr.write(`${name} … `)
    const { status, output } = await run(script)
    if (status === 0) continue
    stderr.write(`failed.\n\n${output}`)
    exit(1)
  }
  stderr.write(`done in ${Math.round((performance.now() - startedAt) / 1000)} s.\n`)
}

/** Runs a script of the package. A signal ends it together with this process. */
async function run(script: string): Promise<{ readonly status: number | null; readonly output: string }> {
  const args = ['run', '--silent', script]
  const npm = env.npm_execpath
  const child = npm
    ? spawn(execPath, [npm, ...args], { cwd: root })
    : spawn(`npm ${args.join(' ')}`, { cwd: root, shell: true })
  const stop = (signal: NodeJS.Signals) => {
    child.kill(signal)
    exit(1)
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)
  const outputs = Promise.all([text(child.stdout), text(child.stderr)])
  const [status] = (await once(child, 'close')) as [number | null]
  process.off('SIGTERM', stop).off('SIGINT', stop)
  return { status, output: (await outputs).join('') }
}
