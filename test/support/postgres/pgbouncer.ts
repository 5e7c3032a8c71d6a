import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, ordinaryUser } from './server.ts'

/** Whether PgBouncer is installed on this machine. */
export const hasPgbouncer = spawnSync('pgbouncer', ['--version'], { stdio: 'ignore' }).error === undefined
if (!hasPgbouncer) console.warn('PostgreSQL behind PgBouncer is not tested: it is not installed on this machine.')

export interface Pgbouncer {
  /** The address of a database of the server behind PgBouncer. */
  urlOf(databaseUrl: string): string
  stop(): Promise<void>
}

/** Starts PgBouncer in transaction mode in front of a server, with few connections to each database. */
export async function startPgbouncer(serverUrl: string): Promise<Pgbouncer> {
  const { hostname, port: serverPort } = new URL(serverUrl)
  const directory = await mkdtemp(join(tmpdir(), 'parley-pgbouncer-'))
  const port = await freePort()
  const [users, settings] = [join(directory, 'users.txt'), join(directory, 'pgbouncer.ini')]
  await writeFile(users, '"postgres" ""\n')
  await writeFile(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = ${users}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`,
  )
  const user = await ordinaryUser() // PgBouncer refuses to run as root, too
  if (user) for (const path of [directory, users, settings]) await chown(path, user.uid, user.gid)
  const child = spawn('pgbouncer', [settings], { ...user, cwd: directory })
  let output = ''
  child.stderr.on('data', (text) => {
    output += text
  })
  const exited = once(child, 'exit')
  while (!(await canConnect(port))) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${output}`)
    await sleep(20)
  }
  return {
    urlOf: (databaseUrl) => `postgres://postgres@127.0.0.1:${port}${new URL(databaseUrl).pathname}`,
    async stop() {
      child.kill('SIGKILL')
      await exited
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
