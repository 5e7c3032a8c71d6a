import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBinaries } from './binaries.ts'

/** A PostgreSQL server on loopback with its data in a temporary directory. */
export interface PostgresServer {
  /** The URL of the administration database. */
  readonly url: string
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** Settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
}

export async function startPostgres({ settings = {} }: PostgresServerOptions = {}): Promise<PostgresServer> {
  const cluster = await createCluster()
  try {
    const { url, stop } = await launch(cluster, 'data', settings)
    return {
      url,
      async stop() {
        await stop()
        await cluster.remove()
      },
    }
  } catch (error) {
    await cluster.remove()
    throw error
  }
}

/** One of two servers, which can die. */
export interface ReplicatedServer {
  readonly url: string
  /** Kills all processes of the server at once. */
  kill(): Promise<void>
  /** Starts it again after it was killed. */
  restart(): Promise<void>
}

export interface ReplicatedPostgres {
  readonly primary: ReplicatedServer
  /** Confirms every commit of the primary, unless the settings say otherwise. */
  readonly standby: ReplicatedServer
  stop(): Promise<void>
}

/** Starts a primary and a synchronous standby, which is a copy of the folder of the primary with a `standby.signal`. */
export async function startReplicatedPostgres(settings: Readonly<Record<string, string>> = {}) {
  const cluster = await createCluster()
  const started: Awaited<ReturnType<typeof launch>>[] = []
  const stop = async () => {
    for (const server of started) await server.kill()
    await cluster.remove()
  }
  try {
    const copy = join(cluster.directory, 'standby')
    await cp(join(cluster.directory, 'data'), copy, { recursive: true })
    await writeFile(join(copy, 'standby.signal'), '')
    if (cluster.user) await run('chown', ['-R', `${cluster.user.uid}:${cluster.user.gid}`, copy])
    await chmod(copy, 0o700)
    const synchronous = { synchronous_commit: 'on', synchronous_standby_names: 'standby' }
    const primary = await launch(cluster, 'data', { ...synchronous, ...settings })
    started.push(primary)
    const { port } = new URL(primary.url)
    const connection = `host=127.0.0.1 port=${port} user=postgres application_name=standby`
    // A promoted standby has none of its own yet.
    const standby = await launch(cluster, 'standby', { primary_conninfo: connection, ...settings })
    started.push(standby)
    return { primary, standby, stop } satisfies ReplicatedPostgres
  } catch (error) {
    await stop()
    throw error
  }
}

interface Cluster {
  readonly directory: string
  readonly user: User | undefined
  readonly postgres: string
  remove(): Promise<void>
}

/** An initialized folder `data` in a temporary directory. */
async function createCluster(): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-postgres-'))
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 5 })
  try {
    const user = await ordinaryUser()
    if (user) await chown(directory, user.uid, user.gid)
    const { initdb, postgres } = await findBinaries(directory, (program) => canRun(program, user))
    const data = join(directory, 'data')
    await run(initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], user)
    return { directory, user, postgres, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function launch(
  { directory, user, postgres }: Cluster,
  folder: string,
  settings: Readonly<Record<string, string>>,
) {
  const port = await freePort()
  const allSettings = { listen_addresses: '127.0.0.1', port: `${port}`, unix_socket_directories: '', ...settings }
  const start = () =>
    untilReady(spawn(postgres, ['-D', join(directory, folder), ...flags(allSettings)], { ...user, cwd: directory }))
  let server = await start()
  const isRunning = () => server.exitCode === null && server.signalCode === null
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      if (!isRunning()) return
      server.kill('SIGINT') // the fast shutdown
      await once(server, 'exit')
    },
    async kill() {
      if (!isRunning()) return
      const children = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').catch(() => '')
      server.kill('SIGKILL')
      for (const pid of children.split(' ').filter(Boolean)) killIfRunning(Number(pid))
      await once(server, 'exit')
    },
    async restart() {
      server = await start()
    },
  }
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended with the server.
  }
}

interface User {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL refuses to run as root. Root starts it as the user `nobody`. */
export async function ordinaryUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const number = async (flag: string) => Number(await run('id', [flag, 'nobody']))
  return { uid: await number('-u'), gid: await number('-g') }
}

async function canRun(program: string, user: User | undefined): Promise<boolean> {
  return await run(program, ['--version'], user).then(
    () => true,
    () => false,
  )
}

async function run(program: string, args: readonly string[], user?: User): Promise<string> {
  const child = spawn(program, args, { ...user, cwd: tmpdir() })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => {
    stdout += text
  })
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`)
  return stdout
}

function flags(settings: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (!address || typeof address === 'string') throw new Error('there is no free port')
  return address.port
}

async function untilReady(server: ChildProcess): Promise<ChildProcess> {
  let output = ''
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${output}`)))
    server.stderr?.on('data', (text) => {
      if (output.length > 100_000) return
      output += text
      if (/ready to accept (read-only )?connections/.test(output)) resolve()
    })
  })
  return server
}
