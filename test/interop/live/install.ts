import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Milliseconds for the installation of a package with everything that it needs. */
const installTimeout = 15 * 60_000

export interface Installation {
  readonly version: string
  /** The interpreter or the compiled program. */
  readonly program: string
}

/** A peer that cannot be installed on this machine. */
export class NotInstalled extends Error {
  override readonly name = 'NotInstalled'
}

/** Installs a Python package into a virtual environment, once per folder. */
export async function installPython(
  folder: string,
  requirement: string,
  more: readonly string[],
): Promise<Installation> {
  const program = join(folder, 'bin', 'python')
  const name = requirement.replace(/[[<>=].*$/, '')
  await once(folder, [requirement, ...more].join(' '), async () => {
    const python = await findPython()
    await run(python, ['-m', 'venv', folder], { timeout: installTimeout })
    const packages = [requirement, ...more]
    await run(program, ['-m', 'pip', 'install', '--quiet', ...packages], { timeout: installTimeout })
  }).catch((error: unknown) => notInstalled(requirement, error))
  const script = `import importlib.metadata as m; print(m.version(${JSON.stringify(name)}))`
  const { stdout } = await run(program, ['-c', script])
  return { version: stdout.trim(), program }
}

/** Builds the Go program in `source` with a version of a module. */
export async function installGo(folder: string, module: string, source: string): Promise<Installation> {
  const program = join(folder, 'client')
  await once(folder, `${module} ${await hashOf(source)}`, async () => {
    await cp(source, folder, { recursive: true })
    await run('go', ['mod', 'init', 'interop'], { cwd: folder })
    await run('go', ['get', module], { cwd: folder, timeout: installTimeout })
    await run('go', ['mod', 'tidy'], { cwd: folder, timeout: installTimeout })
    await run('go', ['build', '-o', program, '.'], { cwd: folder, timeout: installTimeout })
  }).catch((error: unknown) => notInstalled(module, error))
  return { version: module.replace(/^.*@v/, ''), program }
}

/** Builds the Rust programs in `source`, whose manifest pins the versions. The program is their folder. */
export async function installRust(folder: string, version: string, source: string): Promise<Installation> {
  await once(folder, await hashOf(source), async () => {
    await cp(source, folder, { recursive: true })
    await run('cargo', ['build', '--quiet'], { cwd: folder, timeout: installTimeout })
  }).catch((error: unknown) => notInstalled('a2a-rs', error))
  return { version, program: join(folder, 'target', 'debug') }
}

/** Installs packages for JavaScript beside the programs in `source`. The program is the folder. */
export async function installNpm(folder: string, packages: readonly string[], source: string): Promise<Installation> {
  const [first = ''] = packages
  await once(folder, `${packages.join(' ')} ${await hashOf(source)}`, async () => {
    await cp(source, folder, { recursive: true })
    await writeFile(join(folder, 'package.json'), '{ "private": true }')
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps']
    await run('npm', ['install', ...options, ...packages], { cwd: folder, timeout: installTimeout })
  }).catch((error: unknown) => notInstalled(first, error))
  const name = first.replace(/(.)@.*$/, '$1')
  const { version } = JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return { version, program: folder }
}

/** Compiles the Java programs in `source` with a version of the SDK. The program is a class path. */
export async function installJava(folder: string, version: string, source: string): Promise<Installation> {
  const libraries = join(folder, 'lib', '*')
  await once(folder, `${version} ${await hashOf(source)}`, async () => {
    await cp(source, folder, { recursive: true })
    const goal = ['dependency:copy-dependencies', '-DoutputDirectory=lib', `-Da2a.version=${version}`]
    await run('mvn', ['--batch-mode', '--quiet', ...goal], { cwd: folder, timeout: installTimeout })
    const programs = (await readdir(source)).filter((name) => name.endsWith('.java'))
    const files = ['-d', folder, ...programs.map((name) => join(folder, name))]
    await run('javac', ['-encoding', 'UTF-8', '-cp', libraries, ...files], { timeout: installTimeout })
  }).catch((error: unknown) => notInstalled('a2a-java-sdk', error))
  return { version, program: [folder, libraries].join(delimiter) }
}

/** Builds the Java server in `source` with a version of the SDK. The program is an archive. */
export async function installJavaServer(folder: string, version: string, source: string): Promise<Installation> {
  await once(folder, `${version} ${await hashOf(source)}`, async () => {
    await cp(source, folder, { recursive: true })
    const goal = ['package', `-Da2a.version=${version}`]
    await run('mvn', ['--batch-mode', '--quiet', ...goal], { cwd: folder, timeout: installTimeout })
  }).catch((error: unknown) => notInstalled('a2a-java-sdk-reference-jsonrpc', error))
  return { version, program: join(folder, 'target', 'quarkus-app', 'quarkus-run.jar') }
}

async function findPython(): Promise<string> {
  for (const python of ['python3.13', 'python3.12', 'python3.11', 'python3', 'python']) {
    const check = 'import sys, venv; sys.exit(sys.version_info < (3, 10))'
    const isUsable = await run(python, ['-c', check]).then(
      () => true,
      () => false,
    )
    if (isUsable) return python
  }
  throw new NotInstalled('Python 3.10 or newer is not installed')
}

/** Runs an installation, unless an earlier run has finished the same one. */
async function once(folder: string, content: string, install: () => Promise<void>): Promise<void> {
  const marker = join(folder, '.installed')
  const installed = await readFile(marker, 'utf8').catch(() => undefined)
  if (installed === content) return
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await install()
  await writeFile(marker, content)
}

/** A hash of the files in a folder. */
async function hashOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of (await readdir(folder)).sort()) hash.update(name).update(await readFile(join(folder, name)))
  return hash.digest('hex')
}

/** The reason in one line, without addresses and paths of this machine. */
function notInstalled(what: string, error: unknown): never {
  if (error instanceof NotInstalled) throw error
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
  throw new NotInstalled(isMissing ? `its tools are not installed` : `${what} could not be installed`, { cause: error })
}
