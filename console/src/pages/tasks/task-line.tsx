import type { TaskRow } from 'parley-a2a/operator'
import { agentName } from '../../api/agents.ts'
import { isOpen, isStuck } from '../../api/task-state.ts'
import { StateBadge } from '../../components/state-badge.tsx'
import { Ago, Elapsed, formatDuration } from '../../components/time.tsx'
import { link } from '../../router/links.ts'

interface TaskLineProps {
  readonly task: TaskRow
  readonly isSelected: boolean
  readonly onToggle: () => void
}

/** One task of the list. On a narrow screen its cells stack. */
export function TaskLine({ task, isSelected, onToggle }: TaskLineProps) {
  const { agent, taskId, principal, skill, created, changed, events, summary } = task
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
        <a class="mono truncate" href={link('tasks', agent, taskId)}>
          {taskId}
        </a>
        <bdi class="muted small truncate">{summary ?? skill ?? ''}</bdi>
      </span>
      <bdi class="truncate">{agentName(agent)}</bdi>
      <bdi class="truncate" title={principal.tenant ? `${principal.id} of ${principal.tenant}` : principal.id}>
        {principal.id}
      </bdi>
      <span class="task-number" data-label="events">
        {events.toLocaleString()}
      </span>
      <span class="task-number" data-label="duration">
        {isOpen(task) ? <Elapsed since={created} /> : formatDuration(Math.max(0, changed - created))}
      </span>
      <span class="muted">
        <Ago at={changed} />
      </span>
    </div>
  )
}
