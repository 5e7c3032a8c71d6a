import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { createHost } from '../../../src/core/server/host.ts'
import type { TaskLog } from '../../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { createPostgresLog } from '../../../src/entries/postgres.ts'
import { createSqliteLog } from '../../../src/entries/sqlite.ts'
import type { ServeOptions } from '../../../src/serve/options.ts'
import { serve } from '../../../src/serve/serve.ts'
import { silentLogger } from '../../support/logger.ts'
import { startServerFirst } from '../../support/postgres/database.ts'
import { openMigratedPool } from '../../support/postgres/pools.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { createWireClient } from '../../support/wire/wire-client.ts'

startServerFirst()

const named = (name: string) => agent({ name }, (turn) => turn.status('completed', name))

async function start(name: string, options: ServeOptions) {
  const server = await serve(named(name), { signals: false, logger: silentLogger, drainDeadline: 0, ...options })
  onTestFinished(() => server.close())
  return { server, wire: createWireClient(server.url) }
}

describe('agents in one directory', () => {
  it('agents with similar names have files of their own, also after a restart', async () => {
    const directory = await temporaryDirectory()
    const names = ['C++ helper', 'C# helper', 'c helper']
    const ids = new Map<string, string>()
    for (const name of names) {
      const { server, wire } = await start(name, { directory })
      ids.set(name, (await wire.sendTask('go')).id)
      await server.close()
    }
    expect(readdirSync(directory).filter((file) => file.endsWith('.db'))).toHaveLength(names.length)
    for (const name of names.toReversed()) {
      const { wire } = await start(name, { directory })
      const { result } = await wire.call<{ tasks: { id: string }[] }>('ListTasks', {})
      expect(result?.tasks.map(({ id }) => id)).toEqual([ids.get(name)])
    }
    expect(readdirSync(directory).filter((file) => file.endsWith('.db'))).toHaveLength(names.length)
  })
})

const foreign = /holds the tasks of the agent "One", and "Two" would run them as its own\. Give each agent its own /

describe.each<[string, boolean, () => Promise<(agent?: string) => Promise<TaskLog>>]>([
  ['SQLite file', true, openSqlite],
  ['PostgreSQL schema', false, openPostgres],
])('one %s', (_, isSync, prepare) => {
  it('another agent is refused at start, and a renamed agent can continue', async () => {
    const open = await prepare()
    const { server, wire } = await start('One', { log: await open() })
    const { id } = await wire.sendTask('go')
    await expect(start('Two', { log: await open() })).rejects.toThrow(foreign)
    const { wire: replica } = await start('One', { log: await open() })
    expect((await replica.getTask(id)).id).toBe(id)
    await server.close()
    const renamed = await start('Two', { log: await open('One') })
    expect((await renamed.wire.getTask(id)).id).toBe(id)
  })

  it('a handler of another agent gets no task', async () => {
    const open = await prepare()
    await start('One', { log: await open() })
    const log = await open()
    const create = () => createHandler(named('Two'), { auth: 'none', log, logger: silentLogger })
    // SQLite answers at once, PostgreSQL when the handler exists already.
    if (isSync) return void expect(create).toThrow(foreign)
    const { fetch } = create()
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } })
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const response = await fetch(new Request('http://localhost/', { method: 'POST', headers, body }))
    expect(response.status).toBe(503)
  })
})

it('two agents of a host cannot share a log', () => {
  const log = createMemoryLog()
  const host = createHost()
  host.add(named('One'), { auth: 'none', log, mount: '/one', logger: silentLogger })
  host.add(named('One'), { auth: 'none', log, mount: '/other', logger: silentLogger })
  expect(() => host.add(named('Two'), { auth: 'none', log, mount: '/two', logger: silentLogger })).toThrow(foreign)
})

async function openSqlite() {
  const file = join(await temporaryDirectory(), 'tasks.db')
  return async (owner?: string) => closedAfter(createSqliteLog({ file, ...(owner !== undefined && { agent: owner }) }))
}

async function openPostgres() {
  const pool = await openMigratedPool()
  return async (owner?: string) =>
    closedAfter(await createPostgresLog({ pool, ...(owner !== undefined && { agent: owner }) }))
}

function closedAfter(log: TaskLog): TaskLog {
  onTestFinished(() => log.close())
  return log
}
