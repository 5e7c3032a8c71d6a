import type { Database } from '../shared/database.ts'
import { createErase, type OwnedRow, type SelectionValues } from '../shared/erase.ts'
import { numbered } from '../shared/heads.ts'
import type { Retention } from '../shared/log-engine.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { createValues } from '../shared/statement.ts'
import { array } from './sql-text.ts'

export function createRetention(db: Database): Retention {
  const tasks = db.name('tasks')
  const records = db.name('operator_records')
  const old = (condition: string, { endedBefore, limit }: { readonly [Name in keyof Old]: string }) => `
    old AS MATERIALIZED (
      SELECT key, task_id FROM ${tasks} WHERE ${condition} AND changed < ${endedBefore}
      ORDER BY changed LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )`
  const recorded = (column: 'expired' | 'forgotten') => `
    recorded AS (
      UPDATE ${db.name('retention')} SET last_run = floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint,
      ${column} = ${column} + (SELECT count(*) FROM old)
    )`
  const isIn = (phases: string) => `(${phases}::text[] IS NULL OR phase = ANY (${phases}::text[]))`
  const makeTombstones = db.prepare<TaskRow, Old & { readonly phases: string | null }>(
    (value) => `
    WITH ${old(`ended AND phase <> 'expired' AND ${isIn(value.phases)}`, value)},
    events_gone AS (DELETE FROM ${db.name('events')} WHERE task IN (SELECT key FROM old)),
    snapshots_gone AS (DELETE FROM ${db.name('snapshots')} WHERE task IN (SELECT key FROM old)),
    lines_gone AS (DELETE FROM ${records} WHERE kind = 'log' AND list IN (SELECT task_id FROM old)),
    ${recorded('expired')}
    UPDATE ${tasks} AS task SET phase = 'expired', status_generation = NULL FROM old WHERE task.key = old.key
    RETURNING old.task_id`,
  )
  const remove = db.prepare<TaskRow, Old>(
    (value) => `
    WITH ${old("phase = 'expired'", value)},
    claims_gone AS (DELETE FROM ${db.name('claims')} WHERE task IN (SELECT key FROM old)),
    ${recorded('forgotten')}
    DELETE FROM ${tasks} AS task USING old WHERE task.key = old.key
    RETURNING old.task_id`,
  )
  const columns = `task.task_id, task.context_id, task.owner,
      CASE WHEN task.phase = 'expired' THEN 0 ELSE task.generation END AS events`
  const webhooksIn = (from: string) => `
      (SELECT json_agg(json_build_array(hook.owner, hook.id))::text FROM ${from} AS hook WHERE hook.task_id = task.task_id)
      AS webhooks`
  /** Tasks with and without a status are in different indexes. */
  function selectOwned({ owner, contextId, limit }: SelectionValues): Promise<readonly OwnedRow[]> {
    const { values, add } = createValues(numbered)
    const conditions: string[] = []
    if (owner !== null) conditions.push(`owner = ${add(owner)}`)
    if (contextId !== null) conditions.push(`context_id = ${add(contextId)}`)
    const part = (status: string) =>
      `SELECT key FROM ${tasks} WHERE ${conditions.join(' AND ')} AND status_generation IS ${status}`
    const text = `
      SELECT task.key, ${columns}, ${webhooksIn(db.name('webhooks'))}
      FROM (${part('NOT NULL')} UNION ALL ${part('NULL')} LIMIT ${add(limit)}) AS found
      JOIN ${tasks} AS task ON task.key = found.key`
    return db.run<OwnedRow>({ text, values })
  }
  const drop = db.prepare<OwnedRow, { readonly keys: string }>(
    ({ keys }) => `
    WITH erased AS MATERIALIZED (
      SELECT key, task_id FROM ${tasks} WHERE key = ANY (${keys}::bigint[]) ORDER BY key FOR UPDATE
    ),
    webhooks_gone AS (
      DELETE FROM ${db.name('webhooks')} WHERE task_id IN (SELECT task_id FROM erased) RETURNING task_id, owner, id
    ),
    events_gone AS (DELETE FROM ${db.name('events')} WHERE task IN (SELECT key FROM erased)),
    snapshots_gone AS (DELETE FROM ${db.name('snapshots')} WHERE task IN (SELECT key FROM erased)),
    lines_gone AS (DELETE FROM ${records} WHERE kind = 'log' AND list IN (SELECT task_id FROM erased)),
    claims_gone AS (DELETE FROM ${db.name('claims')} WHERE task IN (SELECT key FROM erased))
    DELETE FROM ${tasks} AS task USING erased WHERE task.key = erased.key
    RETURNING task.key, ${columns}, ${webhooksIn('webhooks_gone')}`,
  )

  return {
    expire: async (endedBefore, limit, phases) =>
      idsOf(
        await makeTombstones({ endedBefore: Math.ceil(endedBefore), limit, phases: phases ? array(phases) : null }),
      ),
    forget: async (endedBefore, limit) => idsOf(await remove({ endedBefore: Math.ceil(endedBefore), limit })),
    erase: createErase(db, { select: selectOwned, drop: (keys) => drop({ keys: array(keys) }) }, encodeText),
  }
}

interface Old {
  readonly endedBefore: number
  readonly limit: number
}

interface TaskRow {
  readonly task_id: string
}

function idsOf(rows: readonly TaskRow[]): readonly string[] {
  return rows.map(({ task_id }) => decodeText(task_id))
}
