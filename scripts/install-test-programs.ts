import { spawnSync } from 'node:child_process'
import { findMariadb } from '../test/support/mariadb/server.ts'

/**
 * Installs the programs that tests need and that are no npm packages, from the packages of Debian or Ubuntu. Elsewhere it prints
 * one line for each, and their tests do not run. With `PARLEY_TEST_PROGRAMS=required`, as in CI, it fails instead.
 */
const isRequired = process.env.PARLEY_TEST_PROGRAMS === 'required'

const isThere = (program: string, flag: string) => spawnSync(program, [flag], { stdio: 'ignore' }).error === undefined

const programs = [
  { package: 'mariadb-server-core', use: 'the MySQL store', isThere: async () => (await findMariadb()) !== undefined },
  { package: 'pgbouncer', use: 'PostgreSQL behind PgBouncer', isThere: async () => isThere('pgbouncer', '--version') },
  { package: 'nginx-light', use: 'deploy/nginx.conf', isThere: async () => isThere('nginx', '-v') },
  { package: 'caddy', use: 'deploy/Caddyfile', isThere: async () => isThere('caddy', 'version') },
  {
    package: 'systemd',
    use: 'deploy/parley-agent.service',
    isThere: async () => isThere('systemd-analyze', '--version'),
  },
] as const

function run(program: string, ...args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync(program, args, { env, stdio: 'ignore', timeout: 300_000 }).status === 0
}

function install(name: string): boolean {
  const packages = ['install', '-y', '-qq', '--no-install-recommends', name]
  if (process.getuid?.() !== 0) return false
  return run('apt-get', ...packages) || (run('apt-get', 'update', '-qq') && run('apt-get', ...packages))
}

for (const { package: name, use, isThere } of programs) {
  if ((await isThere()) || install(name)) continue
  console.warn(`${name} is not there and could not be installed: ${use} is not tested.`)
  if (isRequired) process.exitCode = 1
}
