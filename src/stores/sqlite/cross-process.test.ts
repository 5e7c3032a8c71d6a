import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { createWakeups } from '../../core/tasks/follow.ts'
import { createCrossProcessWakeups } from './cross-process.ts'
import { nodeDriver } from './node-driver.ts'
import { openDatabase } from './schema.ts'

test('waiting readers are woken when the database becomes unavailable', async () => {
  const db = openDatabase(newFile(), nodeDriver)
  const wakeups = createWakeups()
  const otherProcesses = createCrossProcessWakeups(db, wakeups)
  otherProcesses.watch()
  const waiting = wakeups.wait('t', new AbortController().signal)
  db.close()
  await waiting
  otherProcesses.stop()
})

function newFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-wakeups-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return join(directory, 'tasks.db')
}
