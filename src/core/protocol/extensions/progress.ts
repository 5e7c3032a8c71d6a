import type { Message } from '../model.ts'

/**
 * The metadata key of status messages that only report progress. Its value has the `type` `reasoning`, or `tool` with
 * `tool` and `toolCallId`. Such messages are not part of the model's history, and the tool calls in them are run by the
 * agent: they request nothing from the caller.
 */
export const progressKey = 'https://parley.dev/ext/progress/v1'

export function isProgress({ metadata }: Pick<Message, 'metadata'>): boolean {
  return metadata?.[progressKey] !== undefined
}
