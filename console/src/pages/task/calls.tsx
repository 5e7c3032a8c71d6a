import type { CallNode, TaskKey } from 'parley-a2a/operator'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx'
import { formatDuration } from '../../components/time.tsx'
import { link } from '../../router/links.ts'

const tones = { running: 'active', waiting: 'warning', completed: 'ok', failed: 'bad' } as const

/** The calls of a task to other agents, as a tree with a waterfall of their durations. */
export function Calls({ task: { agent, taskId } }: { readonly task: TaskKey }) {
  const { value, error, reload } = useResource(() => operator.calls({ agent, taskId }), [agent, taskId])
  if (!value) return error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />
  if (value.calls.length === 0) {
    return <EmptyState title="No calls">This task has not called other agents.</EmptyState>
  }
  const rows = flatten(value.calls, 0)
  const from = Math.min(...rows.map(({ call }) => call.started))
  const to = Math.max(from + 1, ...rows.map(({ call }) => call.ended ?? Date.now()))
  return (
    <ul class="plain calls" aria-label="Calls to other agents">
      {rows.map(({ call, depth }) => (
        <CallLine key={`${call.agent} ${call.started} ${depth}`} call={call} depth={depth} from={from} to={to} />
      ))}
    </ul>
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
  const scale = 1000 / (to - from)
  const name = task ? agentName(task.agent) : agent
  return (
    <li class="call">
      <span class="call-name truncate" style={{ paddingInlineStart: `${depth}rem` }}>
        {task ? (
          <a href={link('tasks', task.agent, task.taskId)}>
            <bdi>{name}</bdi>
          </a>
        ) : (
          <bdi title={remoteTaskId}>{name}</bdi>
        )}
      </span>
      <Badge tone={tones[state]}>{state}</Badge>
      <svg class="call-bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <rect
          class={`call-${state}`}
          x={(started - from) * scale}
          y="2"
          width={Math.max((end - started) * scale, 4)}
          height="10"
        />
      </svg>
      <span class="muted small call-duration">{formatDuration(Math.max(0, end - started))}</span>
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
