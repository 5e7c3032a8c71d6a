import type { AgentCard, AgentExtension } from '../card.ts'

/**
 * The idempotency extension, as cards declare it: the agent treats sends of one message with one `Idempotency-Key` as one,
 * so that a client may repeat a send whose answer was lost.
 */
export const idempotencyExtension: AgentExtension = {
  uri: 'https://parley.dev/ext/idempotency/v1',
  description: 'Treats sends of one message with one Idempotency-Key header as one, so that they may be repeated.',
  required: false,
}

/** Whether the card declares the extension. */
export function declaresIdempotency({ capabilities }: Pick<AgentCard, 'capabilities'>): boolean {
  return capabilities.extensions?.some(({ uri }) => uri === idempotencyExtension.uri) ?? false
}
