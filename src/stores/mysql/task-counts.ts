import { isTask, type Phase } from '../../core/protocol/states.ts'
import type { Database, RunQuery } from '../shared/database.ts'
import { newToken } from '../shared/write-batches.ts'
import { rowsOf, rowsSql } from './sql-text.ts'

/** How often a change also replaces the rows of its owner by their sums. */
const foldProbability = 0.05

/** A task that enters a phase, or leaves it. The owner is encoded. */
export interface PhaseChange {
  readonly owner: string
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/**
 * How many tasks of an owner are in a phase: the sum of its rows in `task_counts`. A change adds a row in the transaction of
 * the task, so that writers never wait for each other. Not by triggers, which a user of MySQL often may not create.
 */
export interface TaskCounts {
  add(query: RunQuery, changes: readonly PhaseChange[]): Promise<void>
  /** The same for tasks that are removed. Leaves one row per phase, and none of an owner without tasks. */
  remove(query: RunQuery, removed: readonly PhaseChange[]): Promise<void>
}

export function createTaskCounts(db: Database): TaskCounts {
  const counts = db.name('task_counts')
  const columns = { owner: 'id', phase: 'id', token: 'long', total: 'long' } as const

  async function insert(query: RunQuery, rows: readonly CountRow[]): Promise<void> {
    const added = sumsOf(rows)
    if (added.length === 0) return
    await query<unknown, { readonly rows: string }>(
      (value) => `
      INSERT INTO ${counts} (owner, phase, token, total)
      SELECT added.owner, added.phase, added.token, added.total FROM ${rowsSql(value.rows, columns)} AS added`,
      { rows: rowsOf(added, (row) => ({ ...row, token: newToken() })) },
    )
  }

  /** Replaces the rows of an owner by their sums with the added ones. */
  async function fold(query: RunQuery, owner: string, added: readonly CountRow[], locking = ''): Promise<void> {
    const rows = await query<CountRow & { readonly token: number }, { readonly owner: string }>(
      (value) => `SELECT owner, phase, token, total FROM ${counts} WHERE owner = ${value.owner} FOR UPDATE${locking}`,
      { owner },
    )
    await query<unknown, { readonly rows: string }>(
      (value) => `
      DELETE gone FROM ${rowsSql(value.rows, columns)} AS old STRAIGHT_JOIN ${counts} AS gone
        ON gone.owner = old.owner AND gone.phase = old.phase AND gone.token = old.token`,
      { rows: rowsOf(rows, ({ phase, token }) => ({ owner, phase, token })) },
    )
    await insert(query, [...rows, ...added])
  }

  return {
    async add(query, changes) {
      const rows = changes.flatMap(rowsOfChange)
      await insert(query, rows)
      for (const owner of new Set(rows.map((row) => row.owner))) {
        if (Math.random() < foldProbability) await fold(query, owner, [], ' SKIP LOCKED')
      }
    },
    async remove(query, removed) {
      // In the same order by every transaction, so that those that wait for each other's rows cannot deadlock. A transaction
      // that adds rows waits for none.
      for (const owner of [...new Set(removed.map((change) => change.owner))].sort()) {
        const added = removed.filter((change) => change.owner === owner).flatMap(rowsOfChange)
        await fold(query, owner, added)
      }
    },
  }
}

function rowsOfChange({ owner, from, to }: PhaseChange): readonly CountRow[] {
  if (from === to) return []
  const rows = [
    { owner, phase: from ?? '', total: -1 },
    { owner, phase: to ?? '', total: 1 },
  ]
  return rows.filter(({ phase }) => phase !== '' && phase !== 'expired' && isTask(phase as Phase))
}

interface CountRow {
  readonly owner: string
  readonly phase: string
  readonly total: number
}

function sumsOf(rows: readonly CountRow[]): readonly CountRow[] {
  const sums = new Map<string, CountRow>()
  for (const { owner, phase, total } of rows) {
    const name = `${phase} ${owner}`
    sums.set(name, { owner, phase, total: (sums.get(name)?.total ?? 0) + Number(total) })
  }
  return [...sums.values()].filter(({ total }) => total !== 0)
}
