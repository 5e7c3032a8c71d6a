import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { createWakeups } from '../../tasks/follow.ts'
import { nodeDriver } from './connection.ts'
import { createCrossProcessWakeups } from './cross-process.ts'
import { openDatabase } from './schema.ts'

test('who waits is woken when the database can no longer be asked', async () => {
  const db = openDatabase(newFile(), nodeDriver)
  const wakeups = createWakeups()
  const neighbours = createCrossProcessWakeups(db, wakeups)
  neighbours.watch()
  const waiting = wakeups.wait('t', new AbortController().signal)
  db.close()
  await waiting
  neighbours.stop()
})

function newFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-neighbours-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return join(directory, 'tasks.db')
}
