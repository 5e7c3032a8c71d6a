import type { TaskDetail, TaskQuery, TaskRow } from 'parley-a2a/operator'
import { useEffect, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { taskName } from '../../api/task-name.ts'
import { isStuck } from '../../api/task-state.ts'
import { useResource } from '../../api/use-resource.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Page } from '../../components/page.tsx'
import { joinedText, Parts } from '../../components/parts/parts.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { formatDuration, formatTime } from '../../components/time.tsx'
import { link } from '../../router/links.ts'
import './context.css'

/** Tasks whose content is loaded at once. */
const step = 10

/** Tasks of a context that are shown. */
const maxTasks = 1_000

/** The conversation of a caller with an agent: the messages and artifacts of all tasks in a context, oldest first. */
export function ContextPage() {
  const { params, query } = useRoute()
  const { agent = '', contextId = '' } = params
  const { principal } = query
  const { value, error, reload } = useResource(
    () => readTasks({ agent, contextId, ...(principal && { principal }) }),
    [agent, contextId, principal],
  )
  const [first] = value?.tasks ?? []
  return (
    <Page
      title={first ? taskName(first) : 'Conversation'}
      lead={
        <span class="context-facts">
          {first && (
            <span>
              <bdi>{first.principal.id}</bdi> with <bdi>{agentName(agent)}</bdi>
            </span>
          )}
          {value && <span>{value.total === 1 ? '1 task' : `${value.total.toLocaleString()} tasks`}</span>}
          <code class="breakable">{contextId}</code>
          <CopyButton label="Copy id" text={contextId} />
        </span>
      }
    >
      {!value && error === undefined && <LoadingState label="Loading the conversation" />}
      {error !== undefined && <ErrorState error={error} onRetry={reload} />}
      {value && !first && (
        <EmptyState title="This context has no tasks">They may have expired, or the address is mistyped.</EmptyState>
      )}
      {value && value.total > value.tasks.length && (
        <Notice kind="info">Only the {value.tasks.length.toLocaleString()} newest tasks are shown.</Notice>
      )}
      {first && <Transcript key={contextId} tasks={value?.tasks ?? []} />}
    </Page>
  )
}

/** Callers may use the same id for a context. */
async function readTasks(query: TaskQuery) {
  const tasks: TaskRow[] = []
  let [cursor, total]: [string | undefined, number] = [undefined, 0]
  do {
    const page = await operator.tasks({ ...query, limit: 200, ...(cursor !== undefined && { cursor }) })
    tasks.push(...page.tasks)
    total = Math.max(total, page.total)
    cursor = page.next
  } while (cursor !== undefined && tasks.length < maxTasks)
  return { tasks: tasks.toSorted((one, other) => one.created - other.created), total }
}

function Transcript({ tasks }: { readonly tasks: readonly TaskRow[] }) {
  const [count, setCount] = useState(step)
  // The end of a conversation is what people look for first.
  const shown = tasks.slice(-count)
  return (
    <>
      {shown.length < tasks.length && (
        <button type="button" class="button" onClick={() => setCount(count + step)}>
          Show {Math.min(step, tasks.length - shown.length)} earlier
        </button>
      )}
      <ol class="plain context">
        {shown.map((row) => (
          <li key={row.taskId}>
            <TaskTranscript row={row} />
          </li>
        ))}
      </ol>
    </>
  )
}

function TaskTranscript({ row }: { readonly row: TaskRow }) {
  const { agent, taskId, created, changed } = row
  const [detail, setDetail] = useState<TaskDetail>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    operator.task({ agent, taskId }).then(setDetail, (error) => setProblem(messageOf(error)))
  }, [agent, taskId])
  return (
    <section class="context-task" aria-label={taskName(row)}>
      <header>
        <a href={link('tasks', agent, taskId)}>
          <bdi class="breakable">{taskName(row)}</bdi>
        </a>
        <StateBadge state={isStuck(row) ? 'stuck' : row.phase} />
        <span class="muted small">
          <time dateTime={new Date(created).toISOString()}>{formatTime(created)}</time>, took{' '}
          {formatDuration(Math.max(0, changed - created))}
        </span>
      </header>
      {problem && <Notice kind="error">{problem}</Notice>}
      {!detail && !problem && <LoadingState label="Loading messages" />}
      {detail && <Messages detail={detail} />}
    </section>
  )
}

function Messages({ detail: { task, isShortened } }: { readonly detail: TaskDetail }) {
  const messages = [...task.history, ...(task.status.message ? [task.status.message] : [])]
  return (
    <>
      {isShortened && <Notice kind="info">Long content is shortened here.</Notice>}
      {messages.map(({ messageId, role, parts }) => (
        <article key={messageId} class={`card context-message context-${role}`}>
          <h3 class="small muted">{role === 'user' ? 'Caller' : 'Agent'}</h3>
          <Parts parts={joinedText(parts)} isPlain={role === 'user'} />
        </article>
      ))}
      {task.artifacts.map(({ artifactId, name, parts }) => (
        <article key={artifactId} class="card context-message">
          <h3 class="small muted">
            Artifact <bdi>{name ?? artifactId}</bdi>
          </h3>
          <Parts parts={joinedText(parts)} />
        </article>
      ))}
    </>
  )
}
