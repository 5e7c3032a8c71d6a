import { useEffect, useMemo, useSyncExternalStore } from 'react'
import {
  type AgentChatActions,
  type AgentChatOptions,
  type AgentChatState,
  createAgentChat,
  initialState,
} from './agent-chat.ts'

/** A conversation with an agent: what to show, and what to do. */
export interface UseAgent extends AgentChatState, AgentChatActions {}

/**
 * A conversation with an agent of any A2A version, as a hook: its messages as they stream, tasks, artifacts and the open
 * question. With an `id`, a reloaded page shows the same messages and resumes the task. Nothing is sent while a server
 * renders.
 *
 * @example
 * const { messages, question, status, send, answer, cancel } = useAgent({ agent: 'https://reports.example.com', id: 'reports' })
 */
export function useAgent(options: AgentChatOptions): UseAgent {
  const { agent, id } = options
  // Another address is another conversation. A client or a function may be a new one with each render.
  const address = `${agent}`
  const chat = useMemo(() => createAgentChat(options), [address, id])
  const state = useSyncExternalStore(chat.subscribe, chat.getState, () => initialState)
  useEffect(() => chat.start(), [chat])
  return { ...state, ...chat.actions }
}
