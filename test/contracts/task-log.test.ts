import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { createSqliteLog } from '../../src/stores/sqlite/index.ts'
import type { TaskLog } from '../../src/tasks/log.ts'
import { createMemoryLog } from '../../src/tasks/memory-log.ts'
import type { OpenLog, SharedPlace } from './task-log/opened-log.ts'
import { sharedLogContract, taskLogContract } from './task-log.ts'

const logs: readonly (readonly [string, OpenLog])[] = [
  ['memory', openMemoryLog],
  ['SQLite', openSqliteLog],
]
const sharedPlaces: readonly (readonly [string, () => Promise<SharedPlace>])[] = [['SQLite', makeSqlitePlace]]

for (const [name, open] of logs) describe(`task log: ${name}`, () => taskLogContract(open))
for (const [name, makePlace] of sharedPlaces) describe(`shared log: ${name}`, () => sharedLogContract(makePlace))

async function openMemoryLog() {
  const log = createMemoryLog()
  return { log, cleanup: () => log.close() }
}

async function openSqliteLog() {
  const place = await makeSqlitePlace()
  return { log: await place.open(), cleanup: place.cleanup }
}

async function makeSqlitePlace(): Promise<SharedPlace> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-log-'))
  const opened: TaskLog[] = []
  return {
    async open() {
      const log = createSqliteLog({ file: join(directory, 'made', 'tasks.db') })
      opened.push(log)
      return log
    },
    async cleanup() {
      for (const log of opened) await log.close()
      await rm(directory, { recursive: true })
    },
  }
}
