import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where packages install the server. */
const programs = ['/usr/sbin/mariadbd', '/usr/bin/mariadbd', '/usr/local/bin/mariadbd', '/opt/homebrew/bin/mariadbd']

/** The program of a MariaDB server on this machine. */
export async function findMariadb(): Promise<string | undefined> {
  for (const program of programs) {
    const isThere = await access(program).then(
      () => true,
      () => false,
    )
    if (isThere) return program
  }
  return undefined
}

/** A MariaDB server on loopback with its data in a temporary directory. */
export interface MariadbServer {
  /** The URL of the server, without a database. */
  readonly url: string
  stop(): Promise<void>
}

/** Without users and without fsync: its data need not survive a crash. */
export async function startMariadb(program: string): Promise<MariadbServer> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-mariadb-'))
  const data = join(directory, 'data')
  await mkdir(data)
  const port = await freePort()
  const user = process.getuid?.() === 0 ? ['--user=root'] : []
  const server = spawn(
    program,
    [
      '--no-defaults',
      ...user,
      `--datadir=${data}`,
      `--socket=${join(directory, 'socket')}`,
      `--pid-file=${join(directory, 'pid')}`,
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      '--skip-grant-tables',
      '--max-connections=300',
      '--innodb-flush-log-at-trx-commit=0',
      '--innodb-doublewrite=0',
      '--innodb-log-file-size=64M',
      '--skip-log-bin',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL')
      await once(server, 'exit')
    }
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await untilReady(server)
    process.once('exit', () => server.kill('SIGKILL'))
    return { url: `mysql://root@127.0.0.1:${port}/`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function untilReady(server: ChildProcess): Promise<void> {
  let output = ''
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`MariaDB ended with ${code}: ${output}`)))
    server.stderr?.on('data', (text) => {
      if (output.length > 100_000) return
      output += text
      if (output.includes('ready for connections')) resolve()
    })
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
