/** Shows a conversation with an agent in React: `useAgent`. */

export type {
  AgentArtifact,
  AgentChatActions,
  AgentChatOptions,
  AgentChatState,
  AgentMessage,
} from '../integrations/ui/agent-chat.ts'
export type { AgentSource, KeyValueStorage } from '../integrations/ui/conversations.ts'
export type { AgentQuestion } from '../integrations/ui/questions.ts'
export { type UseAgent, useAgent } from '../integrations/ui/react.ts'
export type { ToolView, ViewPart } from '../integrations/ui/task-view.ts'
