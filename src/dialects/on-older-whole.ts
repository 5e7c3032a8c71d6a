import { loaded } from '../protocol/lazy-import.ts'

/** What is needed for the older versions where they are not written by the book, or say who may call. */
export function olderWhole(): Promise<typeof import('./older-whole.ts')> {
  return loaded('read the answer', import('./older-whole.ts'), 'unread')
}
