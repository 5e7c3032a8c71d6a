import type { TaskRow } from 'parley-a2a/operator'
import { agentName, isForeign } from '../../api/agents.ts'
import { lastStatus, taskName } from '../../api/task-name.ts'
import { isOpen, isStuck } from '../../api/task-state.ts'
import { Badge, StateBadge } from '../../components/state-badge.tsx'
import { Ago, Elapsed, Took } from '../../components/time.tsx'
import { link } from '../../router/links.ts'

interface TaskLineProps {
  readonly task: TaskRow
  readonly isSelected: boolean
  readonly onToggle: () => void
}

/** One task of the list. On a narrow screen its cells stack. */
export function TaskLine({ task, isSelected, onToggle }: TaskLineProps) {
  const { agent, taskId, principal, skill, created, changed, events } = task
  const status = lastStatus(task)
  return (
    <div class="task-line">
      <input
        type="checkbox"
        aria-label={`Select task ${taskId}`}
        checked={isSelected}
        disabled={!isOpen(task)}
        onChange={onToggle}
      />
      <span>
        <StateBadge state={isStuck(task) ? 'stuck' : task.phase} />
      </span>
      <span class="task-name">
        <a href={link('tasks', agent, taskId)} title={status ? `${taskName(task)}\n${status}` : taskName(task)}>
          <span class="task-about">
            <bdi class="task-request truncate">{taskName(task)}</bdi>
            {status && <bdi class="muted small truncate">{status}</bdi>}
          </span>
          <span class="task-id mono truncate">{taskId}</span>
        </a>
        {skill && (
          <span class="task-skill">
            <Badge tone="neutral">{skill}</Badge>
          </span>
        )}
      </span>
      <bdi class="truncate" title={agentName(agent)}>
        {agentName(agent)}
      </bdi>
      <bdi class="truncate" title={principal.tenant ? `${principal.id} of ${principal.tenant}` : principal.id}>
        {principal.id}
      </bdi>
      <span class="task-number" data-label="events">
        {isForeign(agent) ? <span class="muted">unknown</span> : events.toLocaleString()}
      </span>
      <span class="task-number" data-label="duration">
        {isOpen(task) ? <Elapsed since={created} /> : <Took from={created} to={changed} />}
      </span>
      <span class="muted">
        <Ago at={changed} />
      </span>
    </div>
  )
}
