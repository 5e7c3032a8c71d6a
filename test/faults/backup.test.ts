import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createSqliteAdmin, restoreSqliteLog } from '../../src/entries/sqlite.ts'
import { eventually, recordedTurns, release, startServerProcess } from '../support/processes/server-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

it('a backup of a working agent, restored elsewhere, serves its tasks', async () => {
  const [directory, other] = [await temporaryDirectory(), await temporaryDirectory()]
  const { wire } = await startServerProcess(directory)
  const done = await wire.sendTask('work')
  const asked = await wire.sendTask('ask')
  const held = await wire.sendTask('hold gate', { configuration: { returnImmediately: true } })
  const counting = await wire.sendTask('count', { configuration: { returnImmediately: true } })
  await eventually(async () => (await recordedTurns(directory)).length === 4)

  // By another process than the agent, as from the command line.
  const admin = createSqliteAdmin({ file: join(directory, 'scripted.db') })
  const backup = join(other, 'monday.db')
  await admin.backup(backup)
  expect((await admin.stats()).tasks).toMatchObject({ working: 2, 'input-required': 1, completed: 1 })
  expect(await createSqliteAdmin({ file: backup }).checkIntegrity()).toEqual({ isIntact: true, problems: [] })

  // The agent has not noticed.
  const later = await wire.sendTask('work')
  await release(directory, 'gate')
  await eventually(async () => (await wire.getTask(held.id)).status.state === 'TASK_STATE_COMPLETED')

  await restoreSqliteLog({ backup, file: join(other, 'scripted.db') })
  const restored = await startServerProcess(other)
  expect(await restored.wire.getTask(done.id)).toEqual(done)
  await expect(restored.wire.getTask(later.id)).rejects.toThrow()
  const answered = await restored.wire.sendTask('this one', { taskId: asked.id })
  expect(answered.status.state).toBe('TASK_STATE_COMPLETED')
  // Their process is not the restored one, and the copy does not wait for their leases to expire.
  for (const { id } of [held, counting]) {
    await eventually(async () => (await restored.wire.getTask(id)).status.state === 'TASK_STATE_FAILED')
  }
  expect(existsSync(backup)).toBe(true)
})
