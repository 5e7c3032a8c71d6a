import { browserDatabase } from '../../api/session.ts'
import type { Conversation, Entry } from './conversation.ts'

/** Conversations beyond these bounds are forgotten by the browser; the server keeps their tasks. */
const maxConversations = 30
const maxBytes = 4_000_000

const table = 'conversations'

/** Reads the conversations of this browser, the newest first. A browser without storage has none. */
export async function readConversations(): Promise<readonly Conversation[]> {
  try {
    const database = await open()
    const all = await resultOf<Conversation[]>(tableOf(database, 'readonly').getAll())
    return all.toSorted((a, b) => b.changed - a.changed)
  } catch {
    return []
  }
}

/** Writes at once if the database is open: a page that is being left cannot wait. */
export function writeConversation(conversation: Conversation): void {
  change((store) => store.put(shorten(conversation)))
}

export function removeConversation(id: string): void {
  change((store) => store.delete(id))
}

/** Removes the oldest conversations beyond the bound. */
export function removeExcess(conversations: readonly Conversation[]): void {
  for (const { id } of conversations.slice(maxConversations)) removeConversation(id)
}

let opened: IDBDatabase | undefined

function change(write: (store: IDBObjectStore) => unknown): void {
  try {
    if (opened) write(tableOf(opened, 'readwrite'))
    // Private windows and full disks cannot store; the conversation then lives as long as the page.
    else
      open().then(
        (database) => write(tableOf(database, 'readwrite')),
        () => {},
      )
  } catch {
    opened = undefined
  }
}

function tableOf(database: IDBDatabase, mode: IDBTransactionMode): IDBObjectStore {
  return database.transaction(table, mode).objectStore(table)
}

async function open(): Promise<IDBDatabase> {
  if (opened) return opened
  const request = indexedDB.open(browserDatabase, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: 'id' })
  const database = await resultOf(request)
  // A logout deletes the database.
  database.onversionchange = () => {
    database.close()
    opened = undefined
  }
  opened = database
  return database
}

/** A long conversation keeps its end. The position of its task stays valid. */
function shorten(conversation: Conversation): Conversation {
  let bytes = 0
  const entries: Entry[] = []
  for (const entry of conversation.entries.toReversed()) {
    bytes += sizeOf(entry)
    if (bytes > maxBytes && entries.length > 0) break
    entries.unshift(entry)
  }
  return { ...conversation, entries }
}

function sizeOf(entry: Entry): number {
  if (!('parts' in entry)) return 200
  return entry.parts.reduce((sum, part) => {
    if ('text' in part) return sum + part.text.length
    return sum + ('raw' in part ? part.raw.length : 2_000)
  }, 200)
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
