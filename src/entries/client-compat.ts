/** A client for code that was written against the JSON of A2A 0.3. */

export { type A2AClient, A2AClientImpl, type A2AStreamEvent, type MessageSendParams } from '../core/client/compat.ts'
