import { describe, expect, it } from 'vitest'
import { createDatabase } from '../support/postgres/database.ts'
import { eventually, type ProcessOptions, startServerProcess } from '../support/processes/server-process.ts'
import { closedPort } from '../support/servers/http-server.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** A database behind a proxy that can be interrupted, and processes that use it. */
async function openDatabase() {
  const url = new URL((await createDatabase()).url)
  const port = Number(url.port)
  const proxy = await createTcpProxy(() => port)
  url.port = `${proxy.port}`
  const start = async (options: Omit<ProcessOptions, 'postgres'>, patience: number) =>
    await startServerProcess(await temporaryDirectory(), { ...options, postgres: { url: url.href, patience } })
  return { proxy, start }
}

describe('PostgreSQL that is not there at start', () => {
  it('the process waits, logs its attempts, and ends with exit code 1 and one sentence', async () => {
    const postgres = { url: `postgres://postgres@127.0.0.1:${await closedPort()}/postgres`, patience: 1_500 }
    const failure = await startServerProcess(await temporaryDirectory(), { postgres }).catch(({ message }) => message)
    expect(failure).toMatch(/^The server did not start \(1\)/)
    expect(failure).toContain('The task log in schema parley of PostgreSQL cannot be reached; trying again')
    expect(failure).toMatch(
      /parley of PostgreSQL could not be reached for 1500 ms\. Check that its server runs.*ECONNREFUSED/,
    )
    expect(failure).not.toMatch(/unsettled|\n {4}at /)
  })

  it.each(['cut', 'freeze'] as const)(
    'the process starts as soon as the database can be reached (%s)',
    async (disturb) => {
      const { proxy, start } = await openDatabase()
      proxy[disturb]()
      const starting = start({}, 120_000)
      // A frozen connection is given up before a new one is tried.
      setTimeout(() => (disturb === 'cut' ? proxy.heal() : proxy.cut()), 500)
      setTimeout(() => proxy.heal(), 1_000)
      const { wire } = await starting
      expect((await wire.sendTask('work')).status.state).toBe('TASK_STATE_COMPLETED')
    },
  )
})

describe('PostgreSQL that is gone later', () => {
  it('the process logs its attempts, and ends with exit code 1 and a sentence after the patience of serve', async () => {
    const { proxy, start } = await openDatabase()
    const server = await start({ patience: 2_000, drainDeadline: 0 }, 500)
    await server.wire.sendTask('work')
    proxy.cut()
    await server.wire.call('GetTask', { id: 'any' })
    expect(await server.ended).toBe(1)
    expect(server.stderr()).toContain('cannot be reached; trying again')
    expect(server.stderr()).toMatch(/parley of PostgreSQL could not be reached for 2000 ms/)
  })

  it('the process continues if the database is back in time', async () => {
    const { proxy, start } = await openDatabase()
    const server = await start({ patience: 120_000 }, 500)
    const { id } = await server.wire.sendTask('work')
    proxy.cut()
    expect(await server.wire.call('GetTask', { id })).toMatchObject({ status: 503 })
    await eventually(() => server.stderr().includes('cannot be reached; trying again'))
    proxy.heal()
    await eventually(async () => (await fetch(`${server.url}/readyz`)).status === 200)
    expect((await server.wire.getTask(id)).status.state).toBe('TASK_STATE_COMPLETED')
    server.signal('SIGTERM')
    expect(await server.ended).toBe(0)
  })
})
