import type { Inbox, InboxQuery, OperatorAnswer, TaskKey, Waiting } from 'parley-a2a/operator'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agentName, agents } from '../../api/agents.ts'
import { allowNotifications, inbox, notifications } from '../../api/inbox.ts'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { taskName } from '../../api/task-name.ts'
import { useResource } from '../../api/use-resource.ts'
import { type PendingQuestion, type QuestionAnswer, resultPart } from '../../components/answers/answer.ts'
import { AnswerForm } from '../../components/answers/answer-form.tsx'
import { ToolCall } from '../../components/answers/tool-result-form.tsx'
import { DelayedInput } from '../../components/delayed-input.tsx'
import { Page } from '../../components/page.tsx'
import { Parts } from '../../components/parts/parts.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { Ago, Countdown } from '../../components/time.tsx'
import { link, linkWithQuery } from '../../router/links.ts'
import './inbox.css'

type Item = Inbox['items'][number]

const kinds = { input: 'Question', approval: 'Approval', tool: 'Tool call', credentials: 'Credentials' } as const

/** Everything that waits for a person, of all agents, or one task, at an address of its own. */
export function InboxPage() {
  const { agent, taskId } = useRoute().params
  return agent && taskId ? <OneWaiting key={`${agent} ${taskId}`} agent={agent} taskId={taskId} /> : <AllWaiting />
}

function OneWaiting({ agent, taskId }: TaskKey) {
  const { value, error, reload } = useResource(() => operator.task({ agent, taskId }), [agent, taskId])
  const { waiting } = value ?? {}
  return (
    <Page title="Inbox" lead={<a href={link('inbox')}>Show everything that waits</a>}>
      {!value && error === undefined && <LoadingState label="Loading the task" />}
      {error !== undefined && <ErrorState error={error} onRetry={reload} />}
      {value && !waiting && (
        <EmptyState title="This task does not wait">
          It was answered, or it has ended. <a href={link('tasks', agent, taskId)}>Open the task</a>
        </EmptyState>
      )}
      {value && waiting && (
        <div class="inbox">
          <InboxItem item={{ ...value, waiting }} onDone={reload} />
        </div>
      )}
    </Page>
  )
}

function AllWaiting() {
  const { query, route } = useLocation()
  const filters = { agent: query.agent, kind: kindOf(query.kind), search: query.search }
  const { value, error, isLoading, reload } = useResource(() => operator.inbox(filters as InboxQuery), [filters])
  const { version } = inbox.value
  const first = useRef(version)
  // The server reports what begins to wait, and what other people answer.
  useEffect(() => {
    if (version !== first.current) reload()
  }, [version, reload])
  const [more, setMore] = useState<Inbox>({ items: [] })
  const items = [...(value?.items ?? []), ...more.items]
  const next = more.items.length > 0 ? more.next : value?.next
  const isFiltered = Object.values(filters).some((filter) => filter)

  // An answered question disappears with its form: the keyboard continues at the top.
  useEffect(() => {
    if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus()
  }, [items.length])

  async function loadMore() {
    const page = await operator.inbox({ ...filters, cursor: next } as InboxQuery)
    setMore({ ...page, items: [...more.items, ...page.items] })
  }

  return (
    <Page title="Inbox" lead="Tasks of all agents that wait for a person." actions={<AllowNotifications />}>
      {(isFiltered || items.length > 0) && (
        <InboxFilters
          filters={filters}
          onChange={(filter) => {
            setMore({ items: [] })
            route(linkWithQuery(['inbox'], { ...filters, ...filter }), true)
          }}
        />
      )}
      {value === undefined && isLoading && <LoadingState label="Loading the inbox" />}
      {error !== undefined && <ErrorState error={error} onRetry={reload} />}
      {value && items.length === 0 && isFiltered && (
        <EmptyState title="Nothing that waits matches">
          Change the filters, or <a href={link('inbox')}>remove them</a>.
        </EmptyState>
      )}
      {value && items.length === 0 && !isFiltered && (
        <EmptyState title="Nothing waits for you">
          Questions, approvals and requests for credentials of all agents appear here as soon as they are asked.
        </EmptyState>
      )}
      <ul class="plain inbox">
        {items.map((item) => (
          <li key={`${item.agent} ${item.taskId} ${item.waiting.requestId ?? item.waiting.since}`}>
            <InboxItem item={item} onDone={reload} />
          </li>
        ))}
      </ul>
      {next !== undefined && (
        <button type="button" class="button" onClick={loadMore}>
          Show more
        </button>
      )}
    </Page>
  )
}

const isKind = (name: string | undefined): name is Waiting['kind'] => name !== undefined && Object.hasOwn(kinds, name)
const kindOf = (name: string | undefined) => (isKind(name) ? name : undefined)

type Filters = Readonly<Record<'agent' | 'kind' | 'search', string | undefined>>

interface InboxFiltersProps {
  readonly filters: Filters
  readonly onChange: (filter: Partial<Filters>) => void
}

function InboxFilters({ filters, onChange }: InboxFiltersProps) {
  return (
    <search class="inbox-filters">
      <select
        class="input input-small"
        aria-label="Kind"
        value={filters.kind ?? ''}
        onChange={({ currentTarget }) => onChange({ kind: currentTarget.value })}
      >
        <option value="">Everything</option>
        {Object.entries(kinds).map(([id, label]) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
      {agents.value.length > 1 && (
        <select
          class="input input-small"
          aria-label="Agent"
          value={filters.agent ?? ''}
          onChange={({ currentTarget }) => onChange({ agent: currentTarget.value })}
        >
          <option value="">All agents</option>
          {agents.value.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      <DelayedInput
        class="inbox-search"
        label="Search by request, task or caller"
        value={filters.search ?? ''}
        onChange={(search) => onChange({ search })}
      />
    </search>
  )
}

/** Asks the browser to notify the person when an agent needs one and the console is not in sight. */
function AllowNotifications() {
  if (notifications.value !== 'default') return null
  return (
    <button type="button" class="button" onClick={allowNotifications}>
      Notify me
    </button>
  )
}

function InboxItem({ item, onDone }: { readonly item: Item; readonly onDone: () => void }) {
  const { agent, taskId, waiting, principal } = item
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  async function answer(answered: QuestionAnswer) {
    setBusy(true)
    setProblem(undefined)
    try {
      await operator.answer({ agent, taskId }, bodyOf(answered, waiting.requestId))
      onDone()
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }

  return (
    <article class="card inbox-item" tabIndex={-1} aria-label={`${kinds[waiting.kind]} of ${agentName(agent)}`}>
      <header>
        <Badge tone="warning">{kinds[waiting.kind]}</Badge>
        <strong class="breakable">
          <bdi>{agentName(agent)}</bdi>
        </strong>
        <span class="muted small">
          for <bdi class="breakable">{principal.id}</bdi>, <Ago at={waiting.since} />
        </span>
        {waiting.deadline !== undefined && (
          <span class="small">
            <Countdown until={waiting.deadline} />
          </span>
        )}
        {hasFeature('history') && (
          <a class="small" href={link('tasks', agent, taskId)}>
            Open task
          </a>
        )}
      </header>
      <p class="muted small inbox-request">
        Request: <bdi class="breakable">{taskName(item)}</bdi>
      </p>
      <Parts parts={[{ text: waiting.text }]} />
      {waiting.tool && <ToolCall {...waiting.tool} />}
      {problem && <Notice kind="error">{problem}</Notice>}
      <AnswerForm question={questionOf(waiting)} onAnswer={answer} isBusy={isBusy} />
    </article>
  )
}

function questionOf({ kind, schema, tool, sensitive, credentials }: Waiting): PendingQuestion {
  return { kind, schema, tool: tool?.name, isSensitive: sensitive, ...credentials }
}

/** The request by which an operator answers. */
function bodyOf(answer: QuestionAnswer, requestId: string | undefined): OperatorAnswer {
  const id = requestId !== undefined && { requestId }
  switch (answer.type) {
    case 'text':
      return { ...id, parts: [{ text: answer.text }] }
    case 'value':
      return { ...id, value: answer.value }
    case 'decision':
      return { ...id, decision: answer.decision, ...(answer.comment !== '' && { comment: answer.comment }) }
    case 'tool-result':
      return { ...id, parts: [resultPart(requestId ?? '', answer.result)] }
    case 'tool-failure':
      return { ...id, parts: [resultPart(requestId ?? '', answer.message, true)] }
    case 'credentials': {
      const { scheme, secret } = answer
      return { ...id, credentials: { secret, ...(scheme !== undefined && { scheme }) } }
    }
  }
}
