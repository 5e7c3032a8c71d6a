import { browserDatabase } from '../../api/session.ts'
import type { Conversation, Entry } from './conversation.ts'

/** Conversations beyond these bounds are forgotten by the browser; the server keeps their tasks. */
const maxConversations = 30
const maxBytes = 4_000_000

const table = 'conversations'

/** Reads the conversations of this browser, the newest first. A browser without storage has none. */
export async function readConversations(): Promise<readonly Conversation[]> {
  try {
    const store = await openTable('readonly')
    const all = await resultOf<Conversation[]>(store.getAll())
    return all.toSorted((a, b) => b.changed - a.changed)
  } catch {
    return []
  }
}

export async function writeConversation(conversation: Conversation): Promise<void> {
  await attempt(async () => (await openTable('readwrite')).put(shorten(conversation)))
}

export async function removeConversation(id: string): Promise<void> {
  await attempt(async () => (await openTable('readwrite')).delete(id))
}

/** Removes the oldest conversations beyond the bound. */
export async function removeExcess(conversations: readonly Conversation[]): Promise<void> {
  for (const { id } of conversations.slice(maxConversations)) await removeConversation(id)
}

async function attempt(write: () => Promise<unknown>): Promise<void> {
  try {
    await write()
  } catch {
    // Private windows and full disks cannot store; the conversation then lives as long as the page.
  }
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

async function openTable(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const request = indexedDB.open(browserDatabase, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: 'id' })
  const opened = await resultOf(request)
  const transaction = opened.transaction(table, mode)
  transaction.oncomplete = () => opened.close()
  return transaction.objectStore(table)
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
