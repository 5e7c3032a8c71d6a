import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBinaries } from './binaries.ts'

/** A PostgreSQL of our own on a port of this machine, with its data in a temporary folder. */
export interface PostgresServer {
  /** The address of a database for those who make others. */
  readonly url: string
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** Settings as of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
}

export async function startPostgres({ settings = {} }: PostgresServerOptions = {}): Promise<PostgresServer> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-postgres-'))
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 5 })
  try {
    const user = await ordinaryUser()
    if (user) await chown(directory, user.uid, user.gid)
    const { initdb, postgres } = await findBinaries(directory, (program) => canRun(program, user))
    const data = join(directory, 'data')
    await run(initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], user)
    const port = await freePort()
    const all = { listen_addresses: '127.0.0.1', port: `${port}`, unix_socket_directories: '', ...settings }
    const server = await listening(spawn(postgres, ['-D', data, ...flags(all)], { ...user, cwd: directory }))
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      async stop() {
        if (server.exitCode === null && server.signalCode === null) {
          server.kill('SIGINT') // the fast shutdown
          await once(server, 'exit')
        }
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

interface User {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL refuses to run as root; then it runs as the user that owns nothing. */
async function ordinaryUser(): Promise<User | undefined> {
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
  let said = ''
  let complaints = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  child.stderr.on('data', (text) => {
    complaints += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${complaints}`)
  return said
}

function flags(settings: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (!address || typeof address === 'string') throw new Error('no port is free')
  return address.port
}

async function listening(server: ChildProcess): Promise<ChildProcess> {
  let said = ''
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${said}`)))
    server.stderr?.on('data', (text) => {
      if (said.length > 100_000) return
      said += text
      if (said.includes('ready to accept connections')) resolve()
    })
  })
  return server
}
