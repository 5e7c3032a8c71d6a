import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/entries/client.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { closedPort } from '../support/servers/http-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const script = fileURLToPath(new URL('../support/processes/echo-server.ts', import.meta.url))

interface Started {
  /** The first line of its standard output, or undefined if it ended before. */
  readonly url: string | undefined
  stop(): void
  readonly ended: Promise<number | null>
  readonly stderr: () => string
  readonly lines: () => Line[]
}

type Line = Readonly<Record<string, unknown>> & { readonly level: string; readonly message: string }

/** Starts a server process in a new directory, with these variables and no others of ours. */
async function start(variables: Readonly<Record<string, string>> = {}, ...values: string[]): Promise<Started> {
  const cwd = await temporaryDirectory()
  const { PARLEY_LOG_LEVEL: _, ...environment } = process.env
  const child = spawn(process.execPath, [script, ...values], { cwd, env: { ...environment, ...variables } })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const firstLine = once(createInterface(child.stdout), 'line').then(([line]) => `${line}`)
  const url = await Promise.race([firstLine, ended.then(() => undefined)])
  return {
    url,
    stop: () => void child.kill('SIGTERM'),
    ended,
    stderr: () => stderr,
    lines: () =>
      stderr
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Line),
  }
}

/** Starts a server process in a terminal of its own. */
async function startInTerminal() {
  const { PARLEY_LOG_LEVEL: _, ...environment } = process.env
  const command = `'${process.execPath}' '${script}'`
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: await temporaryDirectory(),
    env: { ...environment, NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.stdin.write('\u0003') // Ctrl-C
    await ended
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  await expect.poll(() => output, { timeout: 20_000 }).toMatch(/^http:\S+\r?$/m)
  return { url: /^http:\S+/m.exec(output)?.[0] ?? '', output: () => output }
}

describe('the log of a server process', () => {
  it('the log of a server process is JSON on the standard error output, one line each for start, ready, a turn, drain and stop', async () => {
    const { url = '', stop, ended, lines, stderr } = await start()
    await (await connect(url)).send('hi')
    stop()
    expect(await ended).toBe(0)
    expect(lines().map(({ level, message }) => `${level} ${message}`)).toEqual([
      'info server starting',
      'info server ready',
      'info turn ended',
      'info server draining',
      'info server stopped',
    ])
    expect(lines()[0]).toMatchObject({
      agents: ['Echo'],
      store: expect.stringMatching(/^SQLite files in \/.*\.parley$/),
    })
    expect(lines()[3]).toMatchObject({ reason: 'SIGTERM' })
    expect(stderr().trimEnd().split('\n')).toHaveLength(5)
  })

  // `script` of Linux runs a program in a terminal.
  it.runIf(process.platform === 'linux')(
    'lines in a terminal are for people, and say why an agent failed; elsewhere its error is logged without the message',
    async () => {
      const inTerminal = await startInTerminal()
      await (await connect(inTerminal.url)).send('fail')
      await expect.poll(inTerminal.output).toMatch(/ERROR? +the agent failed.*the shelf is empty/is)
      expect(inTerminal.output()).not.toContain('{"time"')
      const piped = await start()
      await (await connect(piped.url ?? '')).send('fail')
      await expect.poll(piped.stderr).toContain('"the agent failed"')
      expect(piped.stderr()).not.toContain('the shelf is empty')
    },
  )

  it('PARLEY_LOG_LEVEL decides what is written', async () => {
    const quiet = await start({ PARLEY_LOG_LEVEL: 'warn' }, '{}', 'close')
    expect(await quiet.ended).toBe(0)
    expect(quiet.stderr()).toBe('')
    const debugging = await start({ PARLEY_LOG_LEVEL: 'debug' })
    await connect(debugging.url ?? '')
    debugging.stop()
    await debugging.ended
    expect(debugging.lines()).toContainEqual(expect.objectContaining({ level: 'debug', message: 'request answered' }))
  })

  it('a server that closes right after its start logs neither warnings nor errors', async () => {
    for (let n = 0; n < 3; n++) {
      const { ended, lines } = await start({}, '{}', 'close')
      expect(await ended).toBe(0)
      expect(lines().filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
    }
  })

  it('a port that is taken is one error that names the port', async () => {
    const taken = createServer()
    onTestFinished(() => void taken.close())
    taken.listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const { ended, stderr, lines } = await start({ PORT: `${port}` })
    expect(await ended).toBe(1)
    expect(stderr()).toContain(`Port ${port} on 127.0.0.1 is in use: stop the program that uses it, or choose another`)
    expect(lines().map(({ message }) => message)).toEqual(['server starting'])
    expect(stderr()).not.toMatch(/unsettled|tried again/)
  })
})

describe('the environment of a server process', () => {
  it('PORT, HOST, PARLEY_DIRECTORY and PARLEY_PUBLIC_URL configure it, and options win', async () => {
    const directory = await temporaryDirectory()
    const port = await closedPort()
    const variables = {
      PORT: `${port}`,
      HOST: 'localhost',
      PARLEY_DIRECTORY: directory,
      PARLEY_PUBLIC_URL: 'https://agents.example.com/echo',
    }
    const { url, stop, ended } = await start(variables)
    expect(url).toBe(`http://localhost:${port}`)
    const card = await fetch(`${url}/.well-known/agent-card.json`)
    expect(await card.json()).toMatchObject({ url: 'https://agents.example.com/echo/' })
    expect(existsSync(join(directory, 'echo.db'))).toBe(true)
    stop()
    await ended
    const options = { port: 0, host: '127.0.0.1', publicUrl: 'https://other.example', directory: `${directory}/other` }
    const second = await start(variables, JSON.stringify(options))
    expect(second.url).toMatch(/^http:\/\/127\.0\.0\.1:/)
    expect(second.url).not.toContain(`:${port}`)
    const other = await fetch(`${second.url}/.well-known/agent-card.json`)
    expect(await other.json()).toMatchObject({ url: 'https://other.example/' })
    expect(existsSync(join(directory, 'other', 'echo.db'))).toBe(true)
  })

  it('PARLEY_DATABASE_URL stores the tasks in PostgreSQL, and the password is in no log line', async () => {
    const { url: databaseUrl } = await takeDatabase()
    const { url = '', stop, ended, lines, stderr } = await start({ PARLEY_DATABASE_URL: databaseUrl })
    await (await connect(url)).send('hi')
    stop()
    expect(await ended).toBe(0)
    expect(lines()[0]?.store).toMatch(/^PostgreSQL at /)
    expect(stderr()).not.toContain(databaseUrl)
    const client = new pg.Client(databaseUrl)
    onTestFinished(() => client.end())
    await client.connect()
    const { rows } = await client.query('SELECT name FROM parley_echo.log_agent')
    expect(rows).toEqual([{ name: 'Echo' }])
  })

  it('a directory that cannot be written is an error about the directory', async () => {
    const parent = await temporaryDirectory()
    await writeFile(join(parent, 'file'), '')
    await symlink(join(parent, 'nowhere'), join(parent, 'link'))
    for (const [directory, reason] of [
      [join(parent, 'file'), 'cannot be created, because its directory is a file or a broken link.'],
      [join(parent, 'link'), 'cannot be created, because its directory is a file or a broken link.'],
      [join(parent, 'file', 'below'), 'cannot be created, because a part of its path is a file.'],
    ]) {
      const { ended, stderr } = await start({ PARLEY_DIRECTORY: directory ?? '' })
      expect(await ended).toBe(1)
      expect(stderr()).toContain(`The task log ${join(directory ?? '', 'echo.db')} ${reason}`)
      expect(stderr()).not.toMatch(/\bport\b/i)
    }
  })

  it.runIf(process.platform === 'linux')('a directory in /proc is refused at once', { timeout: 20_000 }, async () => {
    const { ended, stderr } = await start({ PARLEY_DIRECTORY: '/proc/parley/tasks' })
    expect(await ended).toBe(1)
    expect(stderr()).toContain(
      'The task log /proc/parley/tasks/echo.db cannot be created: the file system allows no new files there.',
    )
  })
})

describe('the build', () => {
  const clean = fileURLToPath(new URL('../../scripts/clean.ts', import.meta.url))

  it('replaces the output of an earlier build', async () => {
    const directory = join(await temporaryDirectory(), 'dist')
    await mkdir(directory)
    await writeFile(join(directory, 'old.js'), '')
    expect(spawnSync(process.execPath, [clean, directory]).status).toBe(0)
    expect(existsSync(join(directory, 'old.js'))).toBe(false)
  })

  it('the build names the directory that it cannot replace, and what to do', async () => {
    const parent = await temporaryDirectory()
    await writeFile(join(parent, 'file'), '')
    const directory = join(parent, 'file', 'dist')
    const { status, stderr } = spawnSync(process.execPath, [clean, directory], { encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr).toContain(`The build cannot replace ${directory}. Remove it by hand, and build again. (`)
  })

  // Root may write everywhere.
  it.skipIf(process.getuid?.() === 0)('explains a directory of another user', async () => {
    const parent = await temporaryDirectory()
    await mkdir(join(parent, 'dist'))
    await chmod(parent, 0o500)
    onTestFinished(() => chmod(parent, 0o700))
    const { stderr } = spawnSync(process.execPath, [clean, join(parent, 'dist')], { encoding: 'utf8' })
    expect(stderr).toContain('It belongs to another user')
  })
})
