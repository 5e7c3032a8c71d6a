import { isTask, type Phase } from '../protocol/states.ts'
import { isWithin, type ListCursor, type ListQuery, type NewTask, type TaskHead } from './log.ts'

/** What lists need of a task in memory. */
export interface ListEntry {
  readonly task: NewTask
  readonly head: Pick<TaskHead, 'phase' | 'changed'>
  readonly key: number
}

/** A task at its place in a list. */
interface ListedTask<Entry> extends ListCursor {
  readonly entry: Entry
  readonly phase: Phase
}

/** The listed tasks of an owner. Tasks in a phase are sorted, the last changed at the end. */
interface OwnerLists<Entry> {
  readonly phases: Map<Phase, ListedTask<Entry>[]>
  readonly contexts: Map<string, Set<ListedTask<Entry>>>
}

/** The tasks of a memory log in the order of lists, so that a page reads no more than its own tasks. */
export interface TaskLists<Entry> {
  /** Moves a task to its place after its head changed. */
  update(entry: Entry): void
  remove(entry: Entry): void
  page(query: ListQuery): { readonly tasks: readonly Entry[]; readonly total: number; readonly next?: ListCursor }
}

export function createTaskLists<Entry extends ListEntry>(): TaskLists<Entry> {
  const owners = new Map<string, OwnerLists<Entry>>()
  const places = new Map<Entry, ListedTask<Entry>>()

  function add(listed: ListedTask<Entry>): void {
    const { owner, contextId } = listed.entry.task
    const lists = owners.get(owner) ?? { phases: new Map(), contexts: new Map() }
    const inPhase = lists.phases.get(listed.phase) ?? []
    const inContext = lists.contexts.get(contextId) ?? new Set()
    inPhase.splice(indexIn(inPhase, listed), 0, listed)
    owners.set(owner, lists)
    lists.phases.set(listed.phase, inPhase)
    lists.contexts.set(contextId, inContext.add(listed))
    places.set(listed.entry, listed)
  }

  function drop(listed: ListedTask<Entry>): void {
    const { owner, contextId } = listed.entry.task
    places.delete(listed.entry)
    const lists = owners.get(owner)
    const inPhase = lists?.phases.get(listed.phase)
    const inContext = lists?.contexts.get(contextId)
    if (!lists || !inPhase || !inContext) return
    inPhase.splice(indexIn(inPhase, listed), 1)
    inContext.delete(listed)
    if (inPhase.length === 0) lists.phases.delete(listed.phase)
    if (inContext.size === 0) lists.contexts.delete(contextId)
    if (lists.phases.size === 0) owners.delete(owner)
  }

  /** Sorted lists that together hold the tasks of a scope with this context and phase. */
  function listsFor({ contextId, phase, ...scope }: ListQuery): readonly (readonly ListedTask<Entry>[])[] {
    const visible = scope.also
      ? [...owners].filter(([owner]) => isWithin(scope, owner)).map(([, lists]) => lists)
      : [owners.get(scope.owner)].filter((lists) => lists !== undefined)
    if (contextId === undefined) {
      return visible.flatMap(({ phases }) => (phase === undefined ? [...phases.values()] : [phases.get(phase) ?? []]))
    }
    const isInPhase = (listed: ListedTask<Entry>) => phase === undefined || listed.phase === phase
    return visible.map(({ contexts }) => [...(contexts.get(contextId) ?? [])].filter(isInPhase).sort(compare))
  }

  return {
    update(entry) {
      const listed = places.get(entry)
      const { phase, changed } = entry.head
      if (listed?.phase === phase && listed.changed === changed) return
      if (listed) drop(listed)
      if (phase !== 'expired' && isTask(phase)) add({ entry, phase, changed, key: entry.key })
    },
    remove(entry) {
      const listed = places.get(entry)
      if (listed) drop(listed)
    },
    page(query) {
      const { changedSince, cursor, limit } = query
      const lists = listsFor(query).map((list) => {
        const first = changedSince === undefined ? 0 : indexIn(list, { changed: changedSince, key: 0 })
        return { list, first, end: cursor ? indexIn(list, cursor) : list.length }
      })
      const tasks: ListedTask<Entry>[] = []
      // One task more than the limit shows whether there is another page.
      while (tasks.length <= limit) {
        let newest: (typeof lists)[number] | undefined
        for (const candidate of lists) {
          if (candidate.end > candidate.first && compare(lastOf(candidate), newest && lastOf(newest)) > 0)
            newest = candidate
        }
        if (!newest) break
        tasks.push(lastOf(newest))
        newest.end--
      }
      const last = tasks.length > limit ? tasks[limit - 1] : undefined
      return {
        tasks: tasks.slice(0, limit).map(({ entry }) => entry),
        total: lists.reduce((sum, { list, first }) => sum + list.length - first, 0),
        next: last && { changed: last.changed, key: last.key },
      }
    },
  }
}

function lastOf<T>({ list, end }: { readonly list: readonly T[]; readonly end: number }): T {
  return list[end - 1] as T
}

function compare(one: ListCursor, other: ListCursor | undefined): number {
  return other ? one.changed - other.changed || one.key - other.key : 1
}

/** The index of the first task of a sorted list that is not before the position. */
function indexIn(list: readonly ListCursor[], position: ListCursor): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(list[middle] as ListCursor, position) < 0) low = middle + 1
    else high = middle
  }
  return low
}
