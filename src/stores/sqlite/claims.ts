import type { Claim, Claimed } from '../../tasks/log.ts'
import type { SqliteDatabase } from './driver.ts'

export interface Claims {
  find(owner: string, key: string): Claimed | undefined
  /** The first of these keys that is taken already. */
  findAny(owner: string, claims: readonly Claim[] | undefined): Claimed | undefined
  claim(owner: string, task: number, generation: number, claims: readonly Claim[] | undefined): void
}

export function createClaims(db: SqliteDatabase): Claims {
  const select = db.prepare(`
    SELECT claims.digest, tasks.task_id, claims.generation FROM claims JOIN tasks ON tasks.key = claims.task
    WHERE claims.owner = ? AND claims.key = ?`)
  const insert = db.prepare(
    'INSERT OR REPLACE INTO claims (owner, key, digest, task, generation) VALUES (?, ?, ?, ?, ?)',
  )

  function find(owner: string, key: string): Claimed | undefined {
    const row = select.get(owner, key) as ClaimRow | undefined
    return row && { digest: row.digest, taskId: row.task_id, generation: row.generation }
  }

  return {
    find,
    findAny(owner, claims = []) {
      for (const { key } of claims) {
        const found = find(owner, key)
        if (found) return found
      }
      return undefined
    },
    claim(owner, task, generation, claims = []) {
      for (const { key, digest } of claims) insert.run(owner, key, digest, task, generation)
    },
  }
}

interface ClaimRow {
  readonly digest: string
  readonly task_id: string
  readonly generation: number
}
