import type { EntryKind, RegistryEntry } from '../../registry/entry.ts'
import type { EntryQuery } from '../../registry/entry-store.ts'
import { common, type EntrySizes } from '../entry-plan.ts'
import type { SqliteDatabase } from './driver.ts'

/** By which terms entries are found, and how many have each. To be written in a transaction. */
export interface TermIndex {
  /** `before` is the entry as it is stored, if it is. */
  replace(before: RegistryEntry | undefined, entry: RegistryEntry, terms: readonly string[]): void
  remove(id: string, kind: EntryKind): void
  sizesOf(query: EntryQuery): EntrySizes
}

interface Sized {
  readonly total: number | null
}

export function createTermIndex(db: SqliteDatabase): TermIndex {
  const select = db.prepare('SELECT term FROM registry_terms WHERE id = ?')
  const add = db.prepare('INSERT OR IGNORE INTO registry_terms (term, name, id) VALUES (?, ?, ?)')
  const drop = db.prepare('DELETE FROM registry_terms WHERE id = ?')
  const more = db.prepare(`
    INSERT INTO registry_term_counts (term, kind, total) VALUES (?, ?, 1)
    ON CONFLICT (term, kind) DO UPDATE SET total = total + 1`)
  const fewer = db.prepare(
    'UPDATE registry_term_counts SET total = total - 1 WHERE term = ? AND kind = ? RETURNING total',
  )
  const none = db.prepare('DELETE FROM registry_term_counts WHERE term = ? AND kind = ?')
  const having = db.prepare('SELECT sum(total) AS total FROM registry_term_counts WHERE term = ? AND kind IN (?, ?)')
  const beginning = db.prepare(`
    SELECT sum(total) AS total FROM (
      SELECT total FROM registry_term_counts WHERE term >= ? AND term < ? AND kind IN (?, ?) LIMIT ${common})`)

  const termsOf = (id: string) => (select.all(id) as { readonly term: string }[]).map(({ term }) => term)

  function remove(id: string, kind: EntryKind): void {
    for (const term of termsOf(id)) {
      const { total } = fewer.get(term, kind) as { readonly total: number }
      if (total === 0) none.run(term, kind)
    }
    drop.run(id)
  }

  return {
    replace(before, { id, name, kind }, terms) {
      const wanted = new Set(terms)
      if (before) {
        const known = termsOf(id)
        const isSame = before.name === name && before.kind === kind && known.length === wanted.size
        if (isSame && known.every((term) => wanted.has(term))) return
        remove(id, before.kind)
      }
      for (const term of wanted) {
        add.run(term, name, id)
        more.run(term, kind)
      }
    },
    remove,
    sizesOf({ terms = [], prefixes = [], kind }) {
      const kinds = [kind ?? 'mesh', kind ?? 'a2a'] as const
      return {
        terms: terms.map((term) => (having.get(term, ...kinds) as Sized).total ?? 0),
        prefixes: prefixes.map(
          (prefix) => (beginning.get(prefix, `${prefix}\u{10ffff}`, ...kinds) as Sized).total ?? 0,
        ),
      }
    },
  }
}
