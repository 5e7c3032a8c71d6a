import { describe, expect, it } from 'vitest'
import { createMariadbDatabase, hasMariadb } from '../support/mariadb/database.ts'
import { startServerProcess } from '../support/processes/server-process.ts'
import { closedPort } from '../support/servers/http-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import type { LoggedRow } from './counted-streams.ts'
import { expectNothingLost } from './replicas-under-faults.ts'
import { twoProcessesContract } from './two-processes.ts'

describe.runIf(hasMariadb)('two processes on one MySQL', () =>
  twoProcessesContract(async () => ({ mysql: { url: (await createMariadbDatabase()).url } })),
)

describe.runIf(hasMariadb)('faults on MySQL', () => {
  it('every client sees every event once while three replicas are killed, suspended and disconnected', async () => {
    const { url, pool } = await createMariadbDatabase()
    const rowsOf = async <Row>(sql: string) => (await pool.query(sql))[0] as unknown as readonly Row[]
    await expectNothingLost({
      url,
      optionsFor: (reached) => ({ mysql: { url: reached, statementTimeout: 1_000, patience: 4_000 } }),
      countOpen: async () => (await rowsOf('SELECT 1 FROM parley_tasks WHERE NOT ended')).length,
      async loggedRows() {
        const rows = await rowsOf<Omit<LoggedRow, 'event'> & { readonly event: string }>(`
          SELECT task_id, task.generation AS head, event.generation, event.fence, event.event
          FROM parley_tasks AS task JOIN parley_events AS event ON event.task = task.task_key
          ORDER BY task.task_key, event.generation`)
        return rows.map((row) => ({ ...row, event: JSON.parse(row.event) }))
      },
    })
  }, 180_000)

  it('a process whose database is not there at start ends with one sentence', async () => {
    const mysql = { url: `mysql://root@127.0.0.1:${await closedPort()}/none`, patience: 1_500 }
    const failure = await startServerProcess(await temporaryDirectory(), { mysql }).catch(({ message }) => message)
    expect(failure).toMatch(
      /parley_\* of MySQL could not be reached for 1500 ms\. Check that its server runs.*ECONNREFUSED/,
    )
    expect(failure).not.toMatch(/unsettled|\n {4}at /)
  })
})
