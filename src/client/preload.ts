import { failures } from '../transports/client/failures.ts'

/**
 * Loads at once what is otherwise loaded when something fails. For pages that go on where a network comes and goes: it
 * may be away just when it should bring the code that waits for it.
 */
export async function preload(): Promise<void> {
  await Promise.all([
    failures(),
    import('./trouble.ts'),
    import('./resilience/resume-stream.ts'),
    import('./find-card.ts'),
    import('../dialects/v1.0/client.ts'),
  ])
}
