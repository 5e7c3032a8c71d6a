import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { createTask, message } from '../contracts/task-log/fixtures.ts'
import { newFile } from './sqlite-processes.ts'

test('writes fail while another process holds the lock for too long, and work again afterwards', async () => {
  const file = newFile()
  const log = createSqliteLog({ file })
  const taskId = await createTask(log)
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  await expect(log.append(taskId, 1, [message()], {})).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: expect.stringMatching(/is locked by another process/) },
  })
  expect(await log.read(taskId, 0)).toHaveLength(1)
  other.exec('ROLLBACK')
  other.close()
  expect(await log.append(taskId, 1, [message()], {})).toMatchObject({ type: 'stored' })
  await log.close()
})
