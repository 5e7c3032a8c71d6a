import type { TaskDetail, TaskKey } from 'parley-a2a/operator'
import { useEffect, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agentName, isForeign } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { taskName } from '../../api/task-name.ts'
import { isOpen, isStuck } from '../../api/task-state.ts'
import { useResource } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Page } from '../../components/page.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Ago, Countdown, formatDuration, formatTime } from '../../components/time.tsx'
import { link, linkWithQuery } from '../../router/links.ts'
import { CopyAs } from './copy-as.tsx'
import { type EventPages, useEventPages } from './event-pages.ts'
import { FailureNotice } from './failure-notice.tsx'
import { Replay } from './replay.tsx'
import { RunAgain } from './run-again.tsx'
import { SeenAs } from './seen-as.tsx'
import { Artifacts, History, LogLines, Steps, TaskWebhooks } from './task-details.tsx'
import { Timeline } from './timeline.tsx'
import { Trace } from './trace.tsx'
import './task.css'

const tabs = [
  { id: 'timeline', label: 'Timeline' },
  { id: 'trace', label: 'Trace' },
  { id: 'artifacts', label: 'Artifacts' },
  { id: 'history', label: 'Messages' },
  { id: 'steps', label: 'Steps' },
  { id: 'webhooks', label: 'Webhooks' },
  { id: 'log', label: 'Log' },
  { id: 'versions', label: 'Seen as' },
  { id: 'replay', label: 'Replay' },
] as const

/** What only the server of an agent knows of its tasks. */
const own: ReadonlySet<string> = new Set(['trace', 'steps', 'log', 'replay'])

type TabId = (typeof tabs)[number]['id']

/** One task, with everything that is known about it. */
export function TaskPage() {
  const { params } = useRoute()
  const { agent = '', taskId = '', tab = 'timeline' } = params
  const key: TaskKey = { agent, taskId }
  const { value, error, reload } = useResource(() => operator.task(key), [agent, taskId])
  if (!value) {
    return (
      <Page title="Task" lead={<code class="breakable">{taskId}</code>}>
        {error === undefined ? (
          <LoadingState label="Loading the task" />
        ) : (
          <ErrorState error={error} title="This task cannot be shown" onRetry={reload} />
        )}
      </Page>
    )
  }
  return <TaskView key={`${agent}/${taskId}`} detail={value} tab={tab} error={error} reload={reload} />
}

interface TaskViewProps {
  readonly detail: TaskDetail
  readonly tab: string
  readonly error: unknown
  readonly reload: () => void
}

function TaskView({ detail, tab, error, reload }: TaskViewProps) {
  const { route } = useLocation()
  const { agent, taskId } = detail
  const pages = useEventPages(detail, detail.events)
  useReload(detail, pages.generation, reload)
  const selected = tabs.find(({ id }) => id === tab)?.id ?? 'timeline'
  const shown = tabs.filter(
    ({ id }) => (id !== 'webhooks' || hasFeature('webhooks')) && !(isForeign(agent) && own.has(id)),
  )
  return (
    <Page
      title={taskName(detail)}
      fullTitle={taskName(detail)}
      isFixed
      lead={<TaskFacts detail={detail} />}
      actions={<TaskActions detail={detail} onChange={reload} />}
    >
      {error !== undefined && <Notice kind="warning">{messageOf(error)}</Notice>}
      {detail.waiting && <WaitingNotice detail={detail} />}
      {(detail.phase === 'failed' || detail.phase === 'rejected') && <FailureNotice detail={detail} />}
      {isForeign(agent) && (
        <Notice kind="info">
          Another server has this task. It says what the task is now: the order and the times of its events, when it
          began and who works on it are not known.
        </Notice>
      )}
      <Tabs
        label="Parts of the task"
        tabs={shown}
        selected={selected}
        onSelect={(id) => route(link('tasks', agent, taskId, id))}
      >
        <TabContent tab={selected} detail={detail} pages={pages} />
      </Tabs>
    </Page>
  )
}

/** Milliseconds between two readings of a task that grows, and of one that may lose its process without an event. */
const reloadAfter = 500
const checkAfter = 10_000

function useReload(detail: TaskDetail, generation: number, reload: () => void) {
  const isBehind = detail.events < generation
  const isWatched = isOpen(detail)
  // Every reading starts a new timer
  useEffect(() => {
    if (!isBehind && !isWatched) return
    const timer = setInterval(() => !document.hidden && reload(), isBehind ? reloadAfter : checkAfter)
    return () => clearInterval(timer)
  }, [detail, isBehind, isWatched, reload])
}

interface TabContentProps {
  readonly tab: TabId
  readonly detail: TaskDetail
  readonly pages: EventPages
}

function TabContent({ tab, detail, pages }: TabContentProps) {
  switch (tab) {
    case 'timeline':
      return <Timeline task={detail} pages={pages} />
    case 'artifacts':
      return <Artifacts detail={detail} />
    case 'history':
      return <History detail={detail} />
    case 'steps':
      return <Steps detail={detail} />
    case 'trace':
      return <Trace task={detail} />
    case 'webhooks':
      return <TaskWebhooks task={detail} />
    case 'log':
      return <LogLines task={detail} />
    case 'versions':
      return <SeenAs task={detail} />
    case 'replay':
      return <Replay task={detail} />
  }
}

function TaskFacts({ detail }: { readonly detail: TaskDetail }) {
  const { agent, taskId, contextId, principal, skill, dialect, created, changed, events, lease, rerunOf, traceId } =
    detail
  return (
    <span class="task-facts">
      <StateBadge state={isStuck(detail) ? 'stuck' : detail.phase} />
      <a href={linkWithQuery(['tasks'], { agent })}>
        <bdi>{agentName(agent)}</bdi>
      </a>
      <span>
        by <bdi>{principal.id}</bdi>
      </span>
      {skill && (
        <span>
          skill <bdi>{skill}</bdi>
        </span>
      )}
      {dialect && <span>{dialect}</span>}
      {!isForeign(agent) && <span>{events.toLocaleString()} events</span>}
      {created > 0 && (
        <span title={formatTime(created)}>
          {isOpen(detail) ? <Ago at={created} /> : `took ${formatDuration(Math.max(0, changed - created))}`}
        </span>
      )}
      {lease && lease.expires > Date.now() && <span>on {lease.holder}</span>}
      <code class="breakable">{taskId}</code>
      <CopyButton label="Copy id" text={taskId} />
      <a href={linkWithQuery(['contexts', agent, contextId], { principal: principal.id })}>Conversation</a>
      {rerunOf !== undefined && <a href={link('tasks', agent, rerunOf)}>Run again of {rerunOf.slice(0, 8)}</a>}
      <a href={linkWithQuery(['wire', agent], { left: '1.0 JSONRPC getTask', leftTask: taskId })}>Open in Wire</a>
      {traceId && <CopyButton label="Copy trace id" text={traceId} />}
    </span>
  )
}

function TaskActions({ detail, onChange }: { readonly detail: TaskDetail; readonly onChange: () => void }) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  async function cancel() {
    setBusy(true)
    setProblem(undefined)
    try {
      const { agent, taskId } = detail
      const { results } = await operator.cancelTasks({ tasks: [{ agent, taskId }] })
      setProblem(results[0]?.error)
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
    onChange()
  }
  return (
    <>
      {problem && <Notice kind="error">{problem}</Notice>}
      <RunAgain detail={detail} />
      <CopyAs detail={detail} />
      {isOpen(detail) && (
        <ActionButton kind="danger" isBusy={isBusy} onClick={cancel}>
          Cancel task
        </ActionButton>
      )}
    </>
  )
}

function WaitingNotice({ detail: { agent, taskId, waiting } }: { readonly detail: TaskDetail }) {
  if (!waiting) return null
  return (
    <Notice kind="warning">
      <p class="breakable">
        <bdi>{waiting.text}</bdi>
      </p>
      <p class="small">
        Waiting since <Ago at={waiting.since} />
        {waiting.deadline !== undefined && (
          <>
            , <Countdown until={waiting.deadline} />
          </>
        )}
        . <a href={link('inbox', agent, taskId)}>Answer in the inbox</a>
      </p>
    </Notice>
  )
}
