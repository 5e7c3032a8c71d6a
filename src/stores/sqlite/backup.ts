import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { RunInBackground } from './background.ts'
import type { BackgroundQuery } from './background-thread.ts'
import { explainError } from './connection.ts'
import { createPrivateDirectory, formatWith } from './schema.ts'

interface BackupOptions {
  readonly file: string
  /** Must not exist. */
  readonly target: string
  /** The format of the tables. */
  readonly format: number
  readonly run: RunInBackground
}

/** Copies a database that may be in use. The target appears when it is complete and on disk. */
export async function backUp({ file, target, format, run }: BackupOptions): Promise<void> {
  if (existsSync(target)) throw new Error(`The backup ${target} exists already. Choose another name, or remove it.`)
  const partial = createPartial(target)
  try {
    // One read transaction, so writers need not wait for it. Unlike a copy of the pages, it has no deleted content.
    await run(file, [{ sql: 'VACUUM INTO ?', values: [partial] }])
    await run(partial, releaseLeases(format))
    publish(partial, target)
  } catch (error) {
    removeDatabase(partial)
    throw explainError(error, target, 'The backup')
  }
}

/** No process can hold a lease in a copy. */
function releaseLeases(format: number): readonly BackgroundQuery[] {
  const tasks = { sql: 'UPDATE tasks SET lease_until = 0 WHERE lease_holder IS NOT NULL' }
  const webhooks = { sql: 'UPDATE webhooks SET lease_until = 0 WHERE lease_until IS NOT NULL' }
  return format < formatWith('TABLE webhooks') ? [tasks] : [tasks, webhooks]
}

/** Creates an empty file beside the target that only its owner can access. */
export function createPartial(target: string): string {
  createPrivateDirectory(dirname(target))
  const partial = `${target}.${randomBytes(6).toString('hex')}.partial`
  closeSync(openSync(partial, 'wx', 0o600))
  chmodSync(partial, 0o600)
  return partial
}

/** Gives a complete file its name, once it is on disk. */
export function publish(partial: string, target: string): void {
  chmodSync(partial, 0o600)
  sync(partial, 'r+')
  renameSync(partial, target)
  // Windows cannot open a directory, and needs no sync of it.
  if (process.platform !== 'win32') sync(dirname(target), 'r')
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const handle = openSync(path, flags)
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true })
}
