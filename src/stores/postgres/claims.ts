import type { Claimed } from '../../tasks/log.ts'
import type { Database } from './database.ts'
import { decodeText, encodeText } from './text.ts'

export interface ClaimedRow {
  readonly digest: string
  readonly task_id: string
  readonly generation: number
}

export function decodeClaimed({ digest, task_id, generation }: ClaimedRow): Claimed {
  return { digest: decodeText(digest), taskId: decodeText(task_id), generation }
}

export type FindClaim = (owner: string, key: string) => Promise<Claimed | undefined>

export function createFindClaim(db: Database): FindClaim {
  const select = db.prepare<ClaimedRow>(`
    SELECT claim.digest, task.task_id, claim.generation
    FROM ${db.name('claims')} AS claim JOIN ${db.name('tasks')} AS task ON task.key = claim.task
    WHERE claim.owner = $1 AND claim.key = $2`)

  return async (owner, key) => {
    const [row] = await select(encodeText(owner), encodeText(key))
    return row && decodeClaimed(row)
  }
}
