import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCardVerifier, hashApiKey, signCard } from '../../src/entries/auth.ts'
import { importPublicKey, importSigningKey, MeshRefusal } from '../../src/entries/mesh.ts'
import { servePeer } from '../../src/entries/node.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { lease, message, newTask, status } from '../../src/testing/stores/task-log/fixtures.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import { openPool } from '../support/postgres/pools.ts'
import { shareCli } from '../support/processes/cli.ts'
import { closedPort } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const cli = shareCli()
startServerFirst()

/** A log that an agent, this process, has open. */
async function startLog() {
  const directory = await temporaryDirectory()
  const file = join(directory, 'echo.db')
  const log = createSqliteLog({ file, agent: 'Echo' })
  onTestFinished(() => log.close())
  const [done, working] = [newTask(), newTask({ owner: 'bob' })]
  await log.create(done, [message('hello'), status('completed', 2_000)], { lease })
  await log.create(working, [message('more'), status('working', 3_000)], { lease })
  return { directory, file, log, done, working }
}

describe('SQLite', () => {
  it('a log in use is measured, checked, backed up and restored elsewhere', async () => {
    const { directory, file, done } = await startLog()
    const [backup, copy] = [join(directory, 'monday.db'), join(directory, 'copy.db')]
    const [stats, check, text] = await Promise.all([
      cli.run(['db', 'stats', file, '-o', 'json']),
      cli.run(['db', 'check', file, '-o', 'json']),
      cli.run(['db', 'stats', file]),
    ])
    expect(stats.json()).toMatchObject({ agent: 'Echo', tasks: { completed: 1, working: 1 }, events: 4 })
    expect([check.code, check.json()]).toEqual([0, { isIntact: true, problems: [] }])
    expect(text.field('Tasks completed')).toBe('1')
    expect(text.field('Newest')).toBe('1970-01-01T00:00:03.000Z')

    const made = await cli.run(['db', 'backup', file, '--to', backup])
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect((await stat(backup)).mode & 0o077).toBe(0)
    const restored = await cli.run(['db', 'restore', copy, '--from', backup])
    expect(restored.code).toBe(0)
    const listed = await cli.run(['tasks', copy, '--state', 'completed', '-o', 'json'])
    expect(listed.json()).toMatchObject({ total: 1, tasks: [{ taskId: done.taskId, owner: 'alice', events: 2 }] })
  })

  it('a backup replaces no file, a restore only with --overwrite, and a log in use is not replaced', async () => {
    const { directory, file, log } = await startLog()
    const backup = join(directory, 'monday.db')
    await log.backup(backup)
    const [again, exists, inUse, missing, folder] = await Promise.all([
      cli.run(['db', 'backup', file, '--to', backup, '-o', 'json']),
      cli.run(['db', 'restore', file, '--from', backup, '-o', 'json']),
      cli.run(['db', 'restore', file, '--from', backup, '--overwrite', '-o', 'json']),
      cli.run(['db', 'stats', join(directory, 'nothing.db'), '-o', 'json']),
      cli.run(['db', 'check', directory, '-o', 'json']),
    ])
    expect([again.code, exists.code, inUse.code, missing.code, folder.code]).toEqual([2, 2, 1, 2, 2])
    expect(exists.json().error.hint).toContain('--overwrite')
    expect(inUse.json().error.message).toContain('in use')
    expect(folder.json().error.hint).toContain('echo.db')
    for (const { stderr } of [again, exists, inUse, missing, folder]) expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('a damaged log ends the check with 1', async () => {
    const { directory, log } = await startLog()
    const backup = join(directory, 'damaged.db')
    await log.backup(backup)
    const bytes = await readFile(backup)
    bytes.fill(0xff, 8192, bytes.length)
    await writeFile(backup, bytes)
    const { code, stderr } = await cli.run(['db', 'check', backup])
    expect(code).toBe(1)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('migrations are planned without a change, and applied on request', async () => {
    const { file, directory, log } = await startLog()
    const current = await cli.run(['db', 'migrate', file, '-o', 'json'])
    expect(current.json()).toMatchObject({ steps: [], isApplied: false })
    const empty = join(directory, 'empty.db')
    await writeFile(empty, '')
    const planned = await cli.run(['db', 'migrate', empty, '-o', 'json'])
    expect(planned.json()).toMatchObject({ format: 0, newest: current.json().newest, isApplied: false })
    expect((await stat(empty)).size).toBe(0)
    expect((await cli.run(['tasks', empty])).stderr).toContain('parley db migrate')
    const applied = await cli.run(['db', 'migrate', empty, '--apply', '-o', 'json'])
    expect(applied.json().isApplied).toBe(true)
    expect((await cli.run(['db', 'migrate', empty])).field('Steps')).toBe('0')
    expect(await log.checkIntegrity()).toMatchObject({ isIntact: true })
  })

  it('tasks of all owners are listed, filtered, and shown with their events', async () => {
    const { file, done, working } = await startLog()
    const [all, own, one, unknown] = await Promise.all([
      cli.run(['tasks', file]),
      cli.run(['tasks', file, '--owner', 'bob', '-o', 'json']),
      cli.run(['tasks', file, '--task-id', done.taskId, '-o', 'json']),
      cli.run(['tasks', file, '--task-id', 'nothing', '-o', 'json']),
    ])
    expect(all.field('Total')).toBe('2')
    expect(all.field('Task')).toContain(`${working.taskId} working`)
    expect(own.json().tasks).toMatchObject([{ taskId: working.taskId, state: 'working' }])
    expect(one.json()).toMatchObject({ state: 'completed', events: [{ event: { type: 'message' } }, {}] })
    expect(unknown.code).toBe(2)
  })
})

describe('PostgreSQL', () => {
  it('the log of PARLEY_DATABASE_URL is found by its schema, measured, checked and listed', async () => {
    const pool = await openPool()
    const { connectionString = '' } = pool.options as { connectionString?: string }
    const log = await createPostgresLog({ pool, schema: 'parley_echo', agent: 'Echo' })
    onTestFinished(() => log.close())
    await log.reserveFor?.('Echo')
    await log.create(newTask(), [message(), status('completed')], { lease })
    const env = { PARLEY_DATABASE_URL: connectionString }
    const [stats, check, plan, listed] = await Promise.all([
      cli.run(['db', 'stats', '-o', 'json'], { env }),
      cli.run(['db', 'check', '-o', 'json'], { env }),
      cli.run(['db', 'migrate', '-o', 'json'], { env }),
      cli.run(['tasks', connectionString, '-o', 'json']),
    ])
    expect(stats.json()).toMatchObject({ agent: 'Echo', tasks: { completed: 1 } })
    expect(check.json()).toMatchObject({ isIntact: true })
    expect(plan.json()).toMatchObject({ steps: [] })
    expect(listed.json()).toMatchObject({ total: 1 })
  })

  it('a log in use is backed up by pg_dump if that is new enough, and restored elsewhere and over itself', async () => {
    const pool = await openPool()
    const { connectionString = '' } = pool.options as { connectionString?: string }
    const log = await createPostgresLog({ pool, schema: 'parley_echo', agent: 'Echo' })
    const first = newTask()
    await log.create(first, [message('hello'), status('completed')], { lease })
    const directory = await temporaryDirectory()
    const backup = join(directory, 'monday.dump')
    const env = { PARLEY_DATABASE_URL: connectionString }
    const made = await cli.run(['db', 'backup', '--to', backup], { env })
    if (/version mismatch/.test(made.stderr)) {
      // The tools of this machine are older than the server, which they refuse.
      expect(made.code).toBe(1)
      expect(made.stderr).toMatch(/^hint: Install the client tools of PostgreSQL \d+ or newer\.$/m)
      return await log.close()
    }
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect((await stat(backup)).mode & 0o077).toBe(0)
    await log.create(newTask(), [message('later'), status('completed')], { lease })
    await log.close()

    const other = await createDatabase()
    onTestFinished(() => other.drop())
    const restored = await cli.run(['db', 'restore', other.url, '--from', backup, '-o', 'json'])
    expect(restored.code).toBe(0)
    const listed = await cli.run(['tasks', other.url, '-o', 'json'])
    expect(listed.json()).toMatchObject({ total: 1, tasks: [{ taskId: first.taskId }] })
    const refused = await cli.run(['db', 'restore', '--from', backup, '-o', 'json'], { env })
    expect(refused.code).toBe(1)
    expect(refused.json().error.hint).toContain('--overwrite')
    expect((await cli.run(['tasks', '-o', 'json'], { env })).json().total).toBe(2)
    const replaced = await cli.run(['db', 'restore', '--from', backup, '--overwrite'], { env })
    expect(replaced.code).toBe(0)
    expect((await cli.run(['tasks', '-o', 'json'], { env })).json().total).toBe(1)
    expect((await cli.run(['db', 'check', '-o', 'json'], { env })).json()).toMatchObject({ isIntact: true })
  })

  it('a backup runs pg_dump with the password in its environment; a missing tool or server is explained', async () => {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const directory = await temporaryDirectory()
    const script =
      '#!/bin/sh\nfor a in "$@"; do case "$a" in --file=*) echo "$PGPASSWORD $@" > "$(echo "$a" | cut -c8-)";; esac; done\n'
    await writeFile(join(directory, 'pg_dump'), script)
    await chmod(join(directory, 'pg_dump'), 0o755)
    const url = new URL(database.url)
    url.password ||= 'pass-word-1'
    const target = join(directory, 'monday.dump')
    const base = ['db', 'backup', '--schema', 'parley_echo', '--to']
    const env = { PARLEY_DATABASE_URL: url.href }
    const made = await cli.run([...base, target], {
      env: { ...env, PATH: `${directory}${delimiter}${process.env.PATH}` },
    })
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const [password, ...args] = (await readFile(target, 'utf8')).trim().split(' ')
    expect(password).toBe(decodeURIComponent(url.password))
    expect(args.join(' ')).toContain('--schema=parley_echo')
    expect(args.join(' ')).not.toContain(url.password)
    const [missing, unreachable] = await Promise.all([
      cli.run([...base, join(directory, 'b'), '-o', 'json'], { env: { ...env, PATH: await temporaryDirectory() } }),
      cli.run(['db', 'stats', 'postgres://user:secret-word@127.0.0.1:1/db', '-o', 'json']),
    ])
    expect(missing.json().error).toMatchObject({ message: 'pg_dump is not installed.' })
    expect(unreachable.code).toBe(3)
    expect(unreachable.stdout + unreachable.stderr).not.toContain('secret-word')
  })
})

describe('keys', () => {
  it('a signing key signs a card that its key set verifies, and only its owner can read the file', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'key.json')
    const created = await cli.run(['keys', 'new', '--to', path, '--kid', 'k1', '--alg', 'EdDSA'])
    expect(created.code).toBe(0)
    expect((await stat(path)).mode & 0o077).toBe(0)
    const signed = await signCard({ name: 'Echo' }, JSON.parse(await readFile(path, 'utf8')))
    const { keys } = created.json()
    expect(keys).toMatchObject([{ kid: 'k1', alg: 'EdDSA' }])
    expect(keys[0]).not.toHaveProperty('d')
    await createCardVerifier({ keys })(signed)
    expect((await cli.run(['keys', 'new', '--to', path])).code).toBe(2)
  })

  it('an API key comes with its hash, and a mesh key with its fingerprint', async () => {
    const [api, mesh] = await Promise.all([
      cli.run(['keys', 'new', '--type', 'api-key', '-o', 'json']),
      cli.run(['mesh', 'keygen', '-o', 'json']),
    ])
    expect(await hashApiKey(api.json().key)).toBe(api.json().hash)
    const { privateKey, publicKey, fingerprint } = mesh.json()
    expect((await importSigningKey(privateKey)).fingerprint).toBe(fingerprint)
    expect((await importPublicKey(publicKey)).fingerprint).toBe(fingerprint)
  })
})

describe('registry', () => {
  it('agents are added to a registry that keeps them, listed, searched and probed', async () => {
    const store = join(await temporaryDirectory(), 'registry.db')
    const { server } = await startTestServer(async () => 'tea', {
      profile: { name: 'Tea shop', description: 'Sells tea.' },
    })
    const serving = cli.start(['registry', 'serve', '--port', '0', '--store', store])
    const [, registry = ''] = await serving.until(/^Registry: (\S+)$/m)
    const run = (...args: readonly string[]) =>
      cli.run(['registry', ...args, '-o', 'json'], { env: { A2ACLI_REGISTRY: registry } })
    const added = await run('add', server.url)
    expect(added).toMatchObject({ code: 0 })
    expect(added.json()).toMatchObject({ name: 'Tea shop', kind: 'a2a' })
    const [list, found, nothing, probed, text, wrong] = await Promise.all([
      run('list', '--status', 'healthy'),
      run('search', 'tea'),
      run('search', 'coffee'),
      cli.run(['registry', 'probe', server.url, '-o', 'json']),
      cli.run(['registry', 'list', '--registry', registry]),
      run('add', `http://127.0.0.1:${await closedPort()}`),
    ])
    expect([list, found, nothing].map(({ json }) => json().totalCount)).toEqual([1, 1, 0])
    expect(probed.json()).toMatchObject({ name: 'Tea shop', seen: { reachable: { ok: true }, conforms: { ok: true } } })
    expect(text.field('Agent')).toContain('Tea shop a2a healthy')
    expect(wrong.code).toBe(1)
    serving.child.kill('SIGINT')
    expect((await serving.result).code).toBe(0)
    const gone = await run('list')
    expect([gone.code, gone.json().error.code]).toEqual([3, 'A2ACLI_ERR_UNREACHABLE'])
  })
})

describe('mesh', () => {
  it('a peer is pinged and called with a key of its own, and its refusals and absence are explained', async () => {
    const { endpoint, close } = await servePeer({
      card: { agent_id: 'price-agent', name: 'Prices' },
      methods: {
        get_price({ symbol = '' }, { from }) {
          if (symbol !== 'TEA') throw new MeshRefusal('UNKNOWN_SYMBOL', `There is no price for ${symbol}.`)
          return { price: 4.25, from }
        },
      },
    })
    onTestFinished(close)
    const key = join(await temporaryDirectory(), 'peer.pem')
    expect((await cli.run(['mesh', 'keygen', '--to', key])).code).toBe(0)
    const peer = ['--peer', 'price-agent', '--signing-key', key, '--as', 'shop', '-o', 'json']
    const ping = await cli.run(['mesh', 'ping', endpoint, ...peer])
    expect(ping.json()).toMatchObject({ card: { agent_id: 'price-agent', name: 'Prices' } })
    const sent = await cli.run(['mesh', 'send', endpoint, 'get_price', '--parameters', '{"symbol":"TEA"}', ...peer])
    expect(sent.json()).toEqual({ price: 4.25, from: 'shop' })
    const [refused, gone, wrong] = await Promise.all([
      cli.run(['mesh', 'send', endpoint, 'get_price', ...peer]),
      cli.run(['mesh', 'ping', `http://127.0.0.1:${await closedPort()}/mesh`, ...peer]),
      cli.run(['mesh', 'send', endpoint, 'get_price', '--parameters', '[', ...peer]),
    ])
    expect(refused.json().error.message).toContain('There is no price')
    expect([refused.code, gone.code, wrong.code]).toEqual([1, 3, 2])
  })
})
