import type { WebhookKey, WebhookRow } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { useResource } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { Ago, Countdown } from '../../components/time.tsx'
import { link, linkWithQuery } from '../../router/links.ts'
import { Deliveries } from './deliveries.tsx'
import { ReceiverPanel } from './receiver-panel.tsx'
import './webhooks.css'

const tones = { active: 'ok', paused: 'bad', done: 'neutral' } as const

/** The webhooks of all agents, with their deliveries. */
export function WebhooksPage() {
  const { query } = useLocation()
  const { agent, taskId, id, cursor, open } = query
  const { value, error, reload } = useResource(
    () => operator.webhooks({ ...(agent && { agent }), ...(taskId && { taskId }), ...(cursor && { cursor }) }),
    [agent, taskId, cursor],
  )
  if (!value) {
    return (
      <Page title="Webhooks">
        {error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />}
      </Page>
    )
  }
  // Links from a task name the webhook by `id`, and links of this page by `open`, which filters nothing.
  const opened = value.webhooks.find((webhook) => nameOf(webhook) === (open ?? `${taskId} ${id}`))
  return (
    <Page title="Webhooks" lead={taskId ? <FilteredBy taskId={taskId} agent={agent ?? ''} /> : undefined}>
      {hasFeature('receiver') && <ReceiverPanel />}
      {value.webhooks.length === 0 && (
        <EmptyState title="No webhooks">
          Callers register webhooks for their tasks. Register the address of the receiver above to try it.
        </EmptyState>
      )}
      <ul class="plain webhook-list">
        {value.webhooks.map((webhook) => (
          <WebhookItem
            key={`${webhook.taskId} ${webhook.id}`}
            webhook={webhook}
            isOpened={webhook === opened}
            toggle={linkWithQuery(['webhooks'], {
              agent,
              taskId,
              cursor,
              open: webhook === opened ? undefined : nameOf(webhook),
            })}
            onChange={reload}
          />
        ))}
      </ul>
      {value.next && (
        <a class="button" href={linkWithQuery(['webhooks'], { agent, taskId, cursor: value.next })}>
          Older webhooks
        </a>
      )}
    </Page>
  )
}

const nameOf = ({ taskId, id }: Pick<WebhookRow, 'taskId' | 'id'>) => `${taskId} ${id}`

function FilteredBy({ taskId, agent }: { readonly taskId: string; readonly agent: string }) {
  return (
    <>
      of task{' '}
      <a class="mono" href={link('tasks', agent, taskId)}>
        {taskId}
      </a>
      . <a href={link('webhooks')}>Show all</a>
    </>
  )
}

interface WebhookItemProps {
  readonly webhook: WebhookRow
  readonly isOpened: boolean
  /** The address at which its deliveries are shown, or hidden again. */
  readonly toggle: string
  readonly onChange: () => void
}

const stateLabels = { active: 'Active', paused: 'Paused', done: 'Done' } as const

function WebhookItem({ webhook, isOpened, toggle, onChange }: WebhookItemProps) {
  const { agent, taskId, id, url, state, problem, cursor, dead, nextTry, principal, created } = webhook
  const { act, busy, result } = useAction(onChange)
  const key: WebhookKey = { agent, taskId, id }
  return (
    <li class="card webhook">
      <div class="webhook-head">
        <h2 class="mono breakable" title={url}>
          <bdi>{url}</bdi>
        </h2>
        <span class="webhook-badges">
          {dead > 0 && <Badge tone="bad">{`${dead} given up`}</Badge>}
          <Badge tone={tones[state]}>{stateLabels[state]}</Badge>
        </span>
      </div>
      <p class="muted small">
        <bdi>{agentName(agent)}</bdi>, task{' '}
        <a class="mono" href={link('tasks', agent, taskId)} title={taskId}>
          {taskId.length > 14 ? `${taskId.slice(0, 13)}…` : taskId}
        </a>
        , registered by <bdi>{principal}</bdi> <Ago at={created} />. {progressOf(cursor)}
        {nextTry !== undefined && (
          <>
            {' '}
            Next attempt: <Countdown until={nextTry} />.
          </>
        )}
      </p>
      {problem && <Notice kind="warning">{problem}</Notice>}
      {result && <Notice kind={result.isError ? 'error' : 'info'}>{result.text}</Notice>}
      <div class="webhook-actions">
        {state === 'active' && (
          <ActionButton isBusy={busy === 'pause'} onClick={() => act('pause', () => operator.pauseWebhook(key))}>
            Pause
          </ActionButton>
        )}
        {state === 'paused' && (
          <ActionButton isBusy={busy === 'resume'} onClick={() => act('resume', () => operator.resumeWebhook(key))}>
            Resume
          </ActionButton>
        )}
        {dead > 0 && (
          <ActionButton isBusy={busy === 'redeliver'} onClick={() => act('redeliver', () => operator.redeliver(key))}>
            Redeliver {dead} failed
          </ActionButton>
        )}
        <a class="button" aria-expanded={isOpened} href={toggle}>
          {isOpened ? 'Hide deliveries' : 'Deliveries'}
        </a>
      </div>
      {isOpened && <Deliveries webhook={key} onChange={onChange} />}
    </li>
  )
}

function progressOf(cursor: number): string {
  return cursor === 0 ? 'Nothing is delivered yet.' : `Delivered up to event ${cursor}.`
}

interface ActionResult {
  readonly text: string
  readonly isError: boolean
}

function useAction(onChange: () => void) {
  const [busy, setBusy] = useState<string>()
  const [result, setResult] = useState<ActionResult>()
  async function act(name: string, action: () => Promise<{ readonly redelivered?: number }>) {
    setBusy(name)
    setResult(undefined)
    try {
      const { redelivered } = await action()
      if (redelivered !== undefined) setResult({ text: `${redelivered} deliveries are sent again.`, isError: false })
      onChange()
    } catch (error) {
      setResult({ text: messageOf(error), isError: true })
    }
    setBusy(undefined)
  }
  return { act, busy, result }
}
