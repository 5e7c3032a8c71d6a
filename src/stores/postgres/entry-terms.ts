import type { EntryKind, RegistryEntry } from '../../registry/entry.ts'
import type { Database } from './database.ts'
import { encodeText, lines } from './text.ts'
import type { Ask } from './transaction.ts'

/** By which terms entries are found, and how many have each. */
export interface TermIndex {
  /** `before` is the entry as it is stored, if it is. */
  replace(ask: Ask, before: RegistryEntry | undefined, entry: RegistryEntry, terms: readonly string[]): Promise<void>
  remove(ask: Ask, kind: EntryKind, ids: readonly string[]): Promise<void>
}

export function createTermIndex(db: Pick<Database, 'name'>): TermIndex {
  const [terms, counts] = [db.name('registry_terms'), db.name('registry_term_counts')]

  /** Ids as they are stored. */
  async function remove(ask: Ask, kind: EntryKind, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const left = await ask<{ readonly term: string; readonly total: number }>(
      `WITH gone AS (DELETE FROM ${terms} WHERE id = ANY (string_to_array($1, E'\\n')) RETURNING term),
       counted AS (SELECT term, count(*) AS total FROM gone GROUP BY term)
       UPDATE ${counts} c SET total = c.total - counted.total FROM counted
       WHERE c.term = counted.term AND c.kind = $2 RETURNING c.term, c.total::float8`,
      ids.join('\n'),
      kind,
    )
    const unused = left.filter(({ total }) => total <= 0).map(({ term }) => term)
    if (unused.length === 0) return
    await ask(
      `DELETE FROM ${counts} WHERE term = ANY (string_to_array($1, E'\\n')) AND kind = $2`,
      unused.join('\n'),
      kind,
    )
  }

  async function isSame(ask: Ask, id: string, wanted: readonly string[]): Promise<boolean> {
    const rows = await ask<{ readonly term: string }>(`SELECT term FROM ${terms} WHERE id = $1`, id)
    const known = new Set(rows.map(({ term }) => term))
    return known.size === wanted.length && wanted.every((term) => known.has(encodeText(term)))
  }

  return {
    remove,
    async replace(ask, before, entry, given) {
      const [id, name] = [encodeText(entry.id), encodeText(entry.name)]
      const wanted = [...new Set(given)]
      if (before) {
        const isNamedSo = before.name === entry.name && before.kind === entry.kind
        if (isNamedSo && (await isSame(ask, id, wanted))) return
        await remove(ask, before.kind, [id])
      }
      if (wanted.length === 0) return
      await ask(
        `WITH put AS (
           INSERT INTO ${terms} (term, name, id) SELECT term, $2, $3 FROM unnest(string_to_array($1, E'\\n')) AS term
           RETURNING term)
         INSERT INTO ${counts} AS c (term, kind, total) SELECT term, $4, 1 FROM put
         ON CONFLICT (term, kind) DO UPDATE SET total = c.total + 1`,
        lines(wanted),
        name,
        id,
        entry.kind,
      )
    },
  }
}
