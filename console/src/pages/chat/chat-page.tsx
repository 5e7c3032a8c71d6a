import type { AgentSummary } from 'parley-a2a/operator'
import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agentClient } from '../../api/a2a.ts'
import { agents, selectAgent, selectedAgent } from '../../api/agents.ts'
import { useResource } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { Page } from '../../components/page.tsx'
import { EmptyState, LoadingState } from '../../components/states.tsx'
import { linkWithQuery } from '../../router/links.ts'
import { Composer } from './composer.tsx'
import type { Conversation } from './conversation.ts'
import {
  cancel,
  closeConversation,
  conversations,
  createConversation,
  drafts,
  loadConversations,
  type Outgoing,
  refreshWaiting,
  send,
} from './conversations.ts'
import { Transcript } from './transcript.tsx'
import './chat.css'

/** Conversations with an agent, side by side as tabs. Each has an address of its own. */
export function ChatPage() {
  const { params } = useRoute()
  const { route, query } = useLocation()
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

  const beside = own.find(({ id }) => id === query.beside && id !== current?.id)

  function open(conversation: Conversation | undefined, replace = false) {
    route(addressOf(agentId, conversation, beside), replace)
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
      {own.length > 0 && (
        <ConversationTabs items={own} current={current} beside={beside} onClose={close} agent={agentId} />
      )}
      <div class={`chats ${beside ? 'chats-two' : ''}`}>
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
          {!current && <Examples agent={agentId} onChoose={(text) => begin({ parts: [{ text }] })} />}
          <Composer
            key={composerKey(current, agentId)}
            agent={agent}
            draft={current && drafts.value[current.id]}
            activity={current?.activity ?? 'idle'}
            onCancel={() => current && cancel(current.id)}
            onSend={begin}
          />
        </div>
        {beside && <SecondConversation conversation={beside} agent={agent} close={addressOf(agentId, current)} />}
      </div>
    </Page>
  )

  function begin(outgoing: Outgoing) {
    const target = current ?? createConversation(agentId)
    if (!current) open(target, true)
    send(target.id, outgoing)
  }

  function close(conversation: Conversation) {
    closeConversation(conversation.id)
    if (conversation.id !== current?.id) return
    open(
      own.find(({ id }) => id !== conversation.id),
      true,
    )
  }
}

/** A message that is edited begins the field anew. */
function composerKey(conversation: Conversation | undefined, agent: string): string {
  return conversation ? `${conversation.id} ${drafts.value[conversation.id]?.id ?? ''}` : agent
}

/** The address of a conversation, and of the one beside it. */
function addressOf(agent: string, conversation?: Conversation, beside?: Conversation): string {
  const segments = conversation ? ['chat', agent, conversation.id] : ['chat', agent]
  return linkWithQuery(segments, { beside: beside?.id === conversation?.id ? undefined : beside?.id })
}

interface SecondConversationProps {
  readonly conversation: Conversation
  readonly agent: AgentSummary
  /** The address without it. */
  readonly close: string
}

/** A conversation beside the current one, where the screen is wide enough. */
function SecondConversation({ conversation, agent, close }: SecondConversationProps) {
  const { id, title, activity } = conversation
  return (
    <section class="chat chat-beside" aria-label={`Beside: ${title}`}>
      <header class="chat-beside-head">
        <bdi class="truncate" title={title}>
          {title}
        </bdi>
        <a class="button button-plain button-icon button-small" href={close} aria-label={`Hide ${title}`}>
          <Icon name="close" />
        </a>
      </header>
      <Transcript key={id} conversation={conversation} />
      <Composer
        key={composerKey(conversation, agent.id)}
        agent={agent}
        draft={drafts.value[id]}
        activity={activity}
        onCancel={() => cancel(id)}
        onSend={(outgoing) => send(id, outgoing)}
      />
    </section>
  )
}

const maxExamples = 4

/** Messages that the skills of the agent name as examples. */
function Examples({ agent, onChoose }: { readonly agent: string; readonly onChoose: (text: string) => void }) {
  const { value: examples = [] } = useResource(
    async () => (await agentClient(agent)).card.skills.flatMap((skill) => skill.examples ?? []).slice(0, maxExamples),
    [agent],
  )
  if (examples.length === 0) return null
  return (
    <ul class="plain chat-examples" aria-label="Examples">
      {examples.map((text) => (
        <li key={text}>
          <ActionButton onClick={() => onChoose(text)}>
            <bdi class="breakable">{text.slice(0, 200)}</bdi>
          </ActionButton>
        </li>
      ))}
    </ul>
  )
}

function focusComposer(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.composer textarea')?.focus())
}

interface ConversationTabsProps {
  readonly items: readonly Conversation[]
  readonly current: Conversation | undefined
  readonly beside: Conversation | undefined
  readonly agent: string
  readonly onClose: (conversation: Conversation) => void
}

const activityLabels = { idle: '', sending: 'sending', streaming: 'working', waiting: 'needs you' } as const

function ConversationTabs({ items, current, beside, agent, onClose }: ConversationTabsProps) {
  return (
    <nav class="conversation-tabs" aria-label="Conversations">
      <ul class="plain">
        {items.map((item) => (
          <li key={item.id} class={item === current ? 'conversation-tab current' : 'conversation-tab'}>
            <a href={addressOf(agent, item, beside)} aria-current={item === current ? 'page' : undefined}>
              <bdi class="truncate" title={item.title}>
                {item.title}
              </bdi>
              {item.activity !== 'idle' && <span class="conversation-activity">{activityLabels[item.activity]}</span>}
            </a>
            {current && item !== current && item !== beside && (
              <a
                class="button button-plain button-icon button-small conversation-beside"
                href={addressOf(agent, current, item)}
                aria-label={`Show ${item.title} beside`}
                title="Show beside"
              >
                <Icon name="columns" />
              </a>
            )}
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
