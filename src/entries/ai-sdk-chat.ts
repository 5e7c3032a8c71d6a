/** Connects `useChat` of the AI SDK to agents: `A2AChatTransport`. */

export { A2AChatTransport, type A2AChatTransportOptions } from '../integrations/ui/ai-sdk-chat.ts'
export type { AgentSource, KeyValueStorage } from '../integrations/ui/conversations.ts'
