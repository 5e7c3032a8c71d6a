import type { CallNode, TaskDetail } from 'parley-a2a/operator'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { isOpen } from '../../api/task-state.ts'
import { useResource } from '../../api/use-resource.ts'
import { Badge, StateBadge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx'
import { formatDuration } from '../../components/time.tsx'
import { link } from '../../router/links.ts'

const tones = { running: 'active', waiting: 'warning', completed: 'ok', failed: 'bad' } as const

const labels = { running: 'Running', waiting: 'Waiting', completed: 'Completed', failed: 'Failed' } as const

/** The calls of a task to other agents, as a tree with a waterfall of their durations below the task itself. */
export function Calls({ task }: { readonly task: TaskDetail }) {
  const { agent, taskId, created, changed } = task
  const { value, error, reload } = useResource(() => operator.calls({ agent, taskId }), [agent, taskId, task.events])
  if (!value) return error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />
  if (value.calls.length === 0) {
    return <EmptyState title="No calls">This task has not called other agents.</EmptyState>
  }
  const rows = flatten(value.calls, 1)
  const now = Date.now()
  const from = Math.min(created, ...rows.map(({ call }) => call.started))
  const to = Math.max(from + 1, isOpen(task) ? now : changed, ...rows.map(({ call }) => call.ended ?? now))
  return (
    <div class="card calls">
      <div class="call call-scale muted small" aria-hidden="true">
        <span class="call-ticks tabular">
          {[0, 0.25, 0.5, 0.75, 1].map((share) => (
            <span key={share}>{formatDuration((to - from) * share)}</span>
          ))}
        </span>
      </div>
      <div class="call">
        <strong class="call-name truncate">
          <bdi>{agentName(agent)}</bdi>
        </strong>
        <StateBadge state={task.phase} />
        <Bar state="task" start={created} end={isOpen(task) ? to : changed} from={from} to={to} />
        <span class="muted small call-duration tabular">
          {formatDuration(Math.max(0, (isOpen(task) ? to : changed) - created))}
        </span>
      </div>
      <ul class="plain" aria-label="Calls to other agents">
        {rows.map(({ call, depth }) => (
          <CallLine key={`${call.agent} ${call.started} ${depth}`} call={call} depth={depth} from={from} to={to} />
        ))}
      </ul>
    </div>
  )
}

interface BarProps {
  readonly state: CallNode['state'] | 'task'
  readonly start: number
  readonly end: number
  readonly from: number
  readonly to: number
}

function Bar({ state, start, end, from, to }: BarProps) {
  const scale = 1000 / (to - from)
  return (
    <svg class="call-bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect
        class={`call-${state}`}
        x={Math.min((start - from) * scale, 996)}
        y="2"
        width={Math.max((end - start) * scale, 4)}
        height="10"
      />
    </svg>
  )
}

interface CallLineProps {
  readonly call: CallNode
  readonly depth: number
  readonly from: number
  readonly to: number
}

function CallLine({ call, depth, from, to }: CallLineProps) {
  const { agent, task, remoteTaskId, state, started, ended, failure } = call
  const end = ended ?? Date.now()
  const name = task ? agentName(task.agent) : agent
  return (
    <li class="call">
      <span class="call-name truncate" title={name} style={{ paddingInlineStart: `${depth}rem` }}>
        {task ? (
          <a href={link('tasks', task.agent, task.taskId)}>
            <bdi>{name}</bdi>
          </a>
        ) : (
          <bdi title={remoteTaskId}>{name}</bdi>
        )}
      </span>
      <Badge tone={tones[state]}>{labels[state]}</Badge>
      <Bar state={state} start={started} end={end} from={from} to={to} />
      <span class="muted small call-duration tabular">{formatDuration(Math.max(0, end - started))}</span>
      {failure && <bdi class="small call-failure breakable">{failure}</bdi>}
    </li>
  )
}

interface Row {
  readonly call: CallNode
  readonly depth: number
}

function flatten(calls: readonly CallNode[], depth: number): readonly Row[] {
  return calls.flatMap((call) => [{ call, depth }, ...flatten(call.calls, depth + 1)])
}
