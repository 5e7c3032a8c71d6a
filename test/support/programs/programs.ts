import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A runtime or compiler of `toolchain/programs/package.json`. */
export type Program =
  | 'node-20'
  | 'node-22.13'
  | 'node-22.18'
  | 'node-24.0'
  | 'bun'
  | 'deno'
  | 'workerd'
  | 'typescript-5.4'
  | 'typescript-7'

const manifest = new URL('../../../toolchain/programs/package.json', import.meta.url)
const cache = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))

/** npm has no packages of Node for macOS, and tests start no programs on Windows. */
export const hasPrograms = process.platform === 'linux'

/** The path of an executable program, or of the script of a compiler. Installs all programs on the first call. */
export async function programPath(name: Program): Promise<string> {
  const path = join(await install(), 'node_modules', pathOf(name))
  if (existsSync(path)) return path
  throw new Error(`${name} was not installed for ${process.platform}-${process.arch}: there is no ${path}`)
}

function pathOf(name: Program): string {
  const { platform, arch } = process
  if (name === 'bun') return `@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun`
  if (name === 'deno') return `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}/deno`
  if (name === 'workerd') return `@cloudflare/workerd-${platform}-${arch === 'x64' ? '64' : arch}/bin/workerd`
  if (name.startsWith('typescript')) return `${name}/bin/tsc`
  return `${name}-${platform}-${arch}/bin/node`
}

let installed: Promise<string> | undefined

/** The folder of the programs, one per content of the manifest. If two processes install, the first one wins. */
function install(): Promise<string> {
  installed ??= installOnce().catch((error) => {
    installed = undefined
    throw error
  })
  return installed
}

async function installOnce(): Promise<string> {
  const versions = createHash('sha256')
    .update(await readFile(manifest))
    .digest('hex')
  const folder = join(cache, `programs-${versions.slice(0, 12)}`)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const temporary = await mkdtemp(join(cache, 'installing-'))
  try {
    await cp(manifest, join(temporary, 'package.json'))
    // Install scripts would only link the binaries, which are used by their paths.
    const flags = ['--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await promisify(execFile)('npm', ['install', '--prefix', temporary, ...flags], { cwd: temporary, timeout: 300_000 })
    await rename(temporary, folder)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}
