import { failures } from '../transports/on-failure.ts'

/**
 * Loads at once what is otherwise loaded when something fails. For pages that go on where a network comes and goes: it
 * may be away just when it should bring the code that waits for it.
 */
export async function preload(): Promise<void> {
  await Promise.all([
    failures(),
    import('./trouble.ts'),
    import('./streams.ts'),
    import('./search-card.ts'),
    import('../dialects/v1.0/whole.ts'),
  ])
}
