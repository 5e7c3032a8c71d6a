import type { TaskDetail, TaskKey } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { isOpen, isStuck } from '../../api/task-state.ts'
import { useResource, useStream } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Page } from '../../components/page.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Ago, Countdown, formatDuration, formatTime } from '../../components/time.tsx'
import { link, linkWithQuery } from '../../router/links.ts'
import { Calls } from './calls.tsx'
import { CopyAs } from './copy-as.tsx'
import { Replay } from './replay.tsx'
import { SeenAs } from './seen-as.tsx'
import { Artifacts, History, LogLines, Steps, TaskWebhooks } from './task-details.tsx'
import { Timeline } from './timeline.tsx'
import './task.css'

const tabs = [
  { id: 'timeline', label: 'Timeline' },
  { id: 'artifacts', label: 'Artifacts' },
  { id: 'history', label: 'Messages' },
  { id: 'steps', label: 'Steps' },
  { id: 'calls', label: 'Calls' },
  { id: 'webhooks', label: 'Webhooks' },
  { id: 'log', label: 'Log' },
  { id: 'versions', label: 'Seen as' },
  { id: 'replay', label: 'Replay' },
] as const

type TabId = (typeof tabs)[number]['id']

/** One task, with everything that is known about it. */
export function TaskPage() {
  const { params } = useRoute()
  const { route } = useLocation()
  const { agent = '', taskId = '', tab = 'timeline' } = params
  const key: TaskKey = { agent, taskId }
  const { value, error, reload } = useResource(() => operator.task(key), [agent, taskId])
  // The list of changes names every change of this task
  useStream(
    (signal, last) => operator.taskChanges({ agent, search: taskId }, signal, last),
    (change) => {
      if (change.type === 'task' && change.task.taskId === taskId) reload()
    },
    [agent, taskId],
  )
  if (!value) {
    if (error === undefined) return <LoadingState label="Loading the task" />
    return <ErrorState error={error} title="This task cannot be shown" onRetry={reload} />
  }
  const selected = tabs.find(({ id }) => id === tab)?.id ?? 'timeline'
  const shown = tabs.filter(({ id }) => id !== 'webhooks' || hasFeature('webhooks'))
  return (
    <Page
      title={`Task ${taskId.slice(0, 13)}${taskId.length > 13 ? '…' : ''}`}
      isFixed
      lead={<TaskFacts detail={value} />}
      actions={<TaskActions detail={value} onChange={reload} />}
    >
      {value.waiting && <WaitingNotice detail={value} />}
      <Tabs
        label="Parts of the task"
        tabs={shown}
        selected={selected}
        onSelect={(id) => route(link('tasks', agent, taskId, id), true)}
      >
        <TabContent tab={selected} detail={value} />
      </Tabs>
    </Page>
  )
}

function TabContent({ tab, detail }: { readonly tab: TabId; readonly detail: TaskDetail }) {
  switch (tab) {
    case 'timeline':
      return <Timeline task={detail} />
    case 'artifacts':
      return <Artifacts detail={detail} />
    case 'history':
      return <History detail={detail} />
    case 'steps':
      return <Steps detail={detail} />
    case 'calls':
      return <Calls task={detail} />
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
  const { agent, taskId, contextId, principal, skill, dialect, created, changed, events, lease, traceId } = detail
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
      <span>{events.toLocaleString()} events</span>
      <span title={formatTime(created)}>
        {isOpen(detail) ? <Ago at={created} /> : `took ${formatDuration(Math.max(0, changed - created))}`}
      </span>
      {lease && lease.expires > Date.now() && <span>on {lease.holder}</span>}
      <CopyButton label="Copy id" text={taskId} />
      <a href={linkWithQuery(['tasks'], { search: contextId })}>Same context</a>
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
