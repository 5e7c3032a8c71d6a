import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
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
  const directory = await mkdtemp(join(tmpdir(), 'parley-postgres-'))
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 5 })
  try {
    const user = await ordinaryUser()
    if (user) await chown(directory, user.uid, user.gid)
    const { initdb, postgres } = await findBinaries(directory, (program) => canRun(program, user))
    const data = join(directory, 'data')
    await run(initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], user)
    const port = await freePort()
    const allSettings = { listen_addresses: '127.0.0.1', port: `${port}`, unix_socket_directories: '', ...settings }
    const server = await untilReady(spawn(postgres, ['-D', data, ...flags(allSettings)], { ...user, cwd: directory }))
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

/** PostgreSQL refuses to run as root. Root starts it as the user `nobody`. */
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

async function freePort(): Promise<number> {
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
      if (output.includes('ready to accept connections')) resolve()
    })
  })
  return server
}
