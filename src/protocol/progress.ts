/**
 * The name under which the message of a status says, in its metadata, that it only tells how far the agent is: `type` is
 * `reasoning` or `tool`, with `tool` and `toolCallId`. Models are not told it as something that was said.
 */
export const progressNote = 'https://parley.dev/ext/progress/v1'
