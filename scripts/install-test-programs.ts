import { spawnSync } from 'node:child_process'
import { findMariadb } from '../test/support/mariadb/server.ts'

/**
 * Installs the programs that tests need and that are no npm packages: the MariaDB server, from the packages of Debian or
 * Ubuntu. Elsewhere it prints one line, and the tests of the MySQL store do not run. With `PARLEY_TEST_PROGRAMS=required`, as in CI,
 * it fails instead.
 */
const isRequired = process.env.PARLEY_TEST_PROGRAMS === 'required'

function run(program: string, ...args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync(program, args, { env, stdio: 'ignore', timeout: 300_000 }).status === 0
}

function install(): boolean {
  const packages = ['install', '-y', '-qq', '--no-install-recommends', 'mariadb-server-core']
  if (process.getuid?.() !== 0) return false
  return run('apt-get', ...packages) || (run('apt-get', 'update', '-qq') && run('apt-get', ...packages))
}

if (!(await findMariadb()) && !install()) {
  console.warn('There is no MariaDB server, and it could not be installed: the MySQL store is not tested.')
  if (isRequired) process.exitCode = 1
}
