import { signal } from '@preact/signals'
import { operator } from './operator.ts'

/** How many tasks wait for a person, such as `3` or `50+`; empty if none does. */
export const inboxCount = signal('')

export function setInboxCount(count: number, hasMore: boolean): void {
  inboxCount.value = count === 0 ? '' : `${count}${hasMore ? '+' : ''}`
}

/** Counts once. A page that follows the tasks keeps the number up to date. */
export async function countInbox(): Promise<void> {
  try {
    const { items, next } = await operator.inbox()
    setInboxCount(items.length, next !== undefined)
  } catch {
    // The connection status shows that the server is away.
  }
}
