import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agents, selectAgent, selectedAgent } from '../../api/agents.ts'
import { Icon } from '../../components/icon.tsx'
import { Page } from '../../components/page.tsx'
import { EmptyState, LoadingState } from '../../components/states.tsx'
import { link } from '../../router/links.ts'
import { Composer } from './composer.tsx'
import type { Conversation } from './conversation.ts'
import {
  cancel,
  closeConversation,
  conversations,
  createConversation,
  loadConversations,
  refreshWaiting,
  send,
} from './conversations.ts'
import { Transcript } from './transcript.tsx'
import './chat.css'

/** Conversations with an agent, side by side as tabs. Each has an address of its own. */
export function ChatPage() {
  const { params } = useRoute()
  const { route } = useLocation()
  const agent = agents.value.find(({ id }) => id === params.agent) ?? selectedAgent.value
  const agentId = agent?.id ?? ''
  useEffect(() => {
    loadConversations()
    const refresh = () => !document.hidden && refreshWaiting()
    refresh()
    document.addEventListener('visibilitychange', refresh)
    return () => document.removeEventListener('visibilitychange', refresh)
  }, [])
  useEffect(() => {
    if (agentId) selectAgent(agentId)
  }, [agentId])
  const all = conversations.value
  const own = all?.filter((conversation) => conversation.agent === agentId) ?? []
  const current = own.find(({ id }) => id === params.conversation) ?? (params.conversation ? undefined : own[0])

  function open(conversation: Conversation | undefined, replace = false) {
    route(conversation ? link('chat', agentId, conversation.id) : link('chat', agentId), replace)
  }

  function start() {
    open(createConversation(agentId))
    focusComposer()
  }

  if (all === undefined || !agent) return <LoadingState label="Loading conversations" />
  return (
    <Page
      title="Chat"
      isFixed
      actions={
        <button type="button" class="button" onClick={start}>
          <Icon name="plus" /> New conversation
        </button>
      }
    >
      {own.length > 0 && <ConversationTabs items={own} current={current} onClose={close} agent={agentId} />}
      <div class="chat">
        {current ? (
          <Transcript conversation={current} />
        ) : (
          <EmptyState
            title={params.conversation && own.length > 0 ? 'This conversation is closed' : `Talk to ${agent.name}`}
          >
            {agent.description || 'Send a message to begin.'}
          </EmptyState>
        )}
        <Composer
          key={current?.id ?? agentId}
          agent={agent}
          activity={current?.activity ?? 'idle'}
          onCancel={() => current && cancel(current.id)}
          onSend={(outgoing) => {
            const target = current ?? createConversation(agentId)
            if (!current) open(target, true)
            send(target.id, outgoing)
          }}
        />
      </div>
    </Page>
  )

  function close(conversation: Conversation) {
    closeConversation(conversation.id)
    if (conversation.id !== current?.id) return
    open(
      own.find(({ id }) => id !== conversation.id),
      true,
    )
  }
}

function focusComposer(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.composer textarea')?.focus())
}

interface ConversationTabsProps {
  readonly items: readonly Conversation[]
  readonly current: Conversation | undefined
  readonly agent: string
  readonly onClose: (conversation: Conversation) => void
}

const activityLabels = { idle: '', sending: 'sending', streaming: 'working', waiting: 'needs you' } as const

function ConversationTabs({ items, current, agent, onClose }: ConversationTabsProps) {
  return (
    <nav class="conversation-tabs" aria-label="Conversations">
      <ul class="plain">
        {items.map((item) => (
          <li key={item.id} class={item === current ? 'conversation-tab current' : 'conversation-tab'}>
            <a href={link('chat', agent, item.id)} aria-current={item === current ? 'page' : undefined}>
              <bdi class="truncate">{item.title}</bdi>
              {item.activity !== 'idle' && <span class="conversation-activity">{activityLabels[item.activity]}</span>}
            </a>
            <button
              type="button"
              class="button button-plain button-icon button-small"
              aria-label={`Close ${item.title}`}
              onClick={() => onClose(item)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </nav>
  )
}
