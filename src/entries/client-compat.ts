export { type A2AClient, A2AClientImpl, type A2AStreamEvent, type MessageSendParams } from '../client/compat.ts'
