import type { JsonObject } from 'parley-a2a/client'
import type { TaskDetail, TaskKey } from 'parley-a2a/operator'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { JsonBlock } from '../../components/code-block.tsx'
import { joinedText, Parts } from '../../components/parts/parts.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, Notice } from '../../components/states.tsx'
import { formatTime } from '../../components/time.tsx'
import { linkWithQuery } from '../../router/links.ts'

/** What the agent has produced. */
export function Artifacts({ detail: { task, isShortened } }: { readonly detail: TaskDetail }) {
  if (task.artifacts.length === 0)
    return <EmptyState title="No artifacts">The agent has produced nothing yet.</EmptyState>
  return (
    <div class="stack">
      {isShortened && <ShortenedNotice />}
      {task.artifacts.map(({ artifactId, name, description, parts }) => (
        <article key={artifactId} class="card">
          <h3>
            <bdi>{name ?? artifactId}</bdi>
          </h3>
          {description && <p class="muted breakable">{description}</p>}
          <Parts parts={joinedText(parts)} />
        </article>
      ))}
    </div>
  )
}

/** The messages of the caller and of the agent. */
export function History({ detail: { task, isShortened } }: { readonly detail: TaskDetail }) {
  const messages = [...task.history, ...(task.status.message ? [task.status.message] : [])]
  if (messages.length === 0) return <EmptyState title="No messages" />
  return (
    <>
      {isShortened && <ShortenedNotice />}
      <ol class="plain stack">
        {messages.map(({ messageId, role, parts }) => (
          <li key={messageId} class={`card message-${role}`}>
            <h3>{role === 'user' ? 'Caller' : 'Agent'}</h3>
            <Parts parts={joinedText(parts)} isPlain={role === 'user'} />
          </li>
        ))}
      </ol>
    </>
  )
}

function ShortenedNotice() {
  return <Notice kind="info">Long content is shortened here. The timeline has every event in full.</Notice>
}

/** The journal of durable turns: which steps are stored, by attempt. */
export function Steps({ detail: { steps, recovery } }: { readonly detail: TaskDetail }) {
  if (steps.length === 0) {
    return (
      <EmptyState title="No steps">
        {recovery === 'resume'
          ? 'No step of this task is stored yet.'
          : `This agent does not store steps: its recovery is “${recovery}”.`}
      </EmptyState>
    )
  }
  return (
    <ol class="plain stack">
      {steps.map(({ attempt, step, call, generation, at, result, failure }) => (
        <li key={generation} class="card step">
          <h3>
            <bdi>{step}</bdi> <span class="muted small">call {call}</span>
          </h3>
          <Badge tone={failure ? 'bad' : 'ok'}>{failure ? 'failed' : 'stored'}</Badge>
          <p class="muted small">
            Attempt {attempt}, event {generation}
            {at !== undefined && `, ${formatTime(at)}`}
          </p>
          {failure && <p class="breakable">{failure.message}</p>}
          {result !== undefined && <JsonBlock value={result} label={`Result of ${step}`} maxHeight="small" />}
        </li>
      ))}
    </ol>
  )
}

/** The log lines of the server about this task. */
export function LogLines({ task: { agent, taskId } }: { readonly task: TaskKey }) {
  const { value, error, reload } = useResource(() => operator.log({ agent, taskId }), [agent, taskId])
  if (!value) return error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />
  if (value.lines.length === 0) {
    return (
      <EmptyState title="No log lines">
        This process has logged nothing about the task. It keeps recent lines in memory only.
      </EmptyState>
    )
  }
  return (
    <ol class="plain card log-lines">
      {value.lines.map(({ at, level, message, fields }, index) => (
        <li key={index} class={`log-line log-${level}`}>
          <time class="mono small muted" dateTime={new Date(at).toISOString()}>
            {formatTime(at)}
          </time>
          <span class="mono small">{level}</span>
          <bdi class="breakable">{message}</bdi>
          <code class="small muted breakable">{fieldsOf(fields)}</code>
        </li>
      ))}
    </ol>
  )
}

/** The members that name the task are the same in every line. */
function fieldsOf({ taskId: _, contextId: __, agent: ___, ...fields }: JsonObject): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('  ')
}

/** The webhooks of a task, with a link to their deliveries. */
export function TaskWebhooks({ task: { agent, taskId } }: { readonly task: TaskKey }) {
  const { value, error, reload } = useResource(() => operator.webhooks({ agent, taskId }), [agent, taskId])
  if (!value) return error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />
  if (value.webhooks.length === 0) {
    return <EmptyState title="No webhooks">No caller has registered a webhook for this task.</EmptyState>
  }
  return (
    <ul class="plain stack">
      {value.webhooks.map(({ id, url, state, problem, dead }) => (
        <li key={id} class="card">
          <a href={linkWithQuery(['webhooks'], { agent, taskId, id })}>
            <bdi class="breakable">{url}</bdi>
          </a>{' '}
          <Badge tone={state === 'paused' ? 'bad' : 'ok'}>{state}</Badge>
          {dead > 0 && <p>{dead} deliveries were given up.</p>}
          {problem && <p class="breakable">{problem}</p>}
        </li>
      ))}
    </ul>
  )
}
