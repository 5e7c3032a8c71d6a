import type { TaskRow } from 'parley-a2a/operator'
import { useCallback, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { isOpen } from '../../api/task-state.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Page } from '../../components/page.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { VirtualList } from '../../components/virtual-list.tsx'
import { link, linkWithQuery } from '../../router/links.ts'
import { keyOf, type Reader, useLiveTasks } from './live-tasks.ts'
import { readFilters, TaskFilters, toQuery } from './task-filters.tsx'
import { TaskLine } from './task-line.tsx'
import './tasks.css'

/** At most so many tasks are canceled by one request. */
const maxCancel = 200

/** All tasks of all agents, live. */
export function TasksPage() {
  const { query, route, ...location } = useLocation()
  const filters = readFilters(query)
  // A period starts where it was chosen: a start that moves would read the list again and again.
  const taskQuery = useMemo(() => toQuery(filters), [JSON.stringify(filters)])
  const reader = useRef<Reader>({ signs: new Set(), offset: 0 })
  const [startKey, setStartKey] = useState(0)
  // The router knows whether a person came by a link or by the back button.
  const isBack = !(location as { readonly wasPush?: boolean }).wasPush
  const tasks = useLiveTasks(taskQuery, reader, isBack)
  const { rows, total, incomplete, waiting, isLoading, isStale, error, loadMore, reload } = tasks
  const keyAt = useCallback((index: number) => keyOf(rows[index] as TaskRow), [rows])
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isConfirming, setConfirming] = useState(false)
  const { cancel, isCanceling, problem } = useCancel(reload)
  const open = rows.filter(isOpen).slice(0, maxCancel)
  const chosen = rows.filter((task) => selected.has(keyOf(task)) && isOpen(task))

  function toggle(task: TaskRow) {
    const next = new Set(selected)
    if (!next.delete(keyOf(task))) next.add(keyOf(task))
    setSelected(next)
  }

  async function cancelChosen() {
    await cancel(chosen.slice(0, maxCancel))
    setConfirming(false)
    setSelected(new Set())
  }

  return (
    <Page
      title="Tasks"
      isFixed
      lead={leadOf(total, rows.length, incomplete.length > 0)}
      actions={
        <>
          {chosen.length > 0 && (
            <button type="button" class="button button-plain" onClick={() => setSelected(new Set())}>
              Clear selection
            </button>
          )}
          {open.length > chosen.length && (
            <button type="button" class="button" onClick={() => setSelected(new Set(open.map(keyOf)))}>
              Select {open.length} open
            </button>
          )}
          {chosen.length > 0 && (
            <ActionButton kind="danger" onClick={() => setConfirming(true)}>
              Cancel {Math.min(chosen.length, maxCancel)} selected
            </ActionButton>
          )}
        </>
      }
    >
      <TaskFilters
        filters={filters}
        hasTenants={rows.some(({ principal }) => principal.tenant !== undefined)}
        onChange={(next, isTyped) => route(linkWithQuery(['tasks'], { ...next }), isTyped)}
      />
      {incomplete.map(({ agent, reason }) => (
        <Notice key={agent} kind="info">
          {agentName(agent)} {reason}
        </Notice>
      ))}
      {isConfirming && (
        <ConfirmCancel
          count={Math.min(chosen.length, maxCancel)}
          isBusy={isCanceling}
          onConfirm={cancelChosen}
          onClose={() => setConfirming(false)}
        />
      )}
      {problem && <Notice kind="error">{problem}</Notice>}
      {error !== undefined && rows.length > 0 && <Notice kind="warning">{messageOf(error)}</Notice>}
      {isStale && isLoading && (
        <p class="small muted task-loading" role="status">
          <span class="spinner" aria-hidden="true" /> {filters.search ? 'Searching…' : 'Loading…'}
        </p>
      )}
      {waiting > 0 && (
        <button
          type="button"
          class="button button-small new-items"
          onClick={() => {
            tasks.showWaiting()
            setStartKey(startKey + 1)
          }}
        >
          {waiting.toLocaleString()} new
        </button>
      )}
      {rows.length > 0 ? (
        <div
          class={`task-table ${isStale ? 'task-table-stale' : ''}`}
          onPointerEnter={() => reader.current.signs.add('pointer')}
          onPointerLeave={() => reader.current.signs.delete('pointer')}
          onFocusIn={() => reader.current.signs.add('focus')}
          onFocusOut={() => reader.current.signs.delete('focus')}
        >
          <div class="task-line task-head" aria-hidden="true">
            <span />
            <span>State</span>
            <span>Task</span>
            <span>Agent</span>
            <span>Caller</span>
            <span class="task-number">Events</span>
            <span class="task-number">Duration</span>
            <span>Changed</span>
          </div>
          <VirtualList
            label="Tasks"
            class="task-rows"
            count={rows.length}
            estimate={56}
            keyOf={keyAt}
            onEnd={loadMore}
            startOffset={tasks.offset}
            startKey={startKey}
            onScroll={(isAtStart, offset) => {
              reader.current.offset = offset
              reader.current.signs[isAtStart ? 'delete' : 'add']('scroll')
            }}
            render={(index) => {
              const task = rows[index] as TaskRow
              return <TaskLine task={task} isSelected={selected.has(keyOf(task))} onToggle={() => toggle(task)} />
            }}
          />
        </div>
      ) : (
        <Nothing isLoading={isLoading} error={error} reload={reload} isFiltered={Object.keys(filters).length > 0} />
      )}
    </Page>
  )
}

/** How many tasks there are, as far as it is known. */
function leadOf(total: number, listed: number, isIncomplete: boolean): string | undefined {
  if (isIncomplete) return listed > 0 ? `The first ${listed.toLocaleString()} tasks` : undefined
  return total > 0 ? `${total >= 10_000 ? 'More than 10,000' : total.toLocaleString()} tasks` : undefined
}

interface ConfirmCancelProps {
  readonly count: number
  readonly isBusy: boolean
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

/** Asks before tasks are canceled, which cannot be undone. */
function ConfirmCancel({ count, isBusy, onConfirm, onClose }: ConfirmCancelProps) {
  const tasks = count === 1 ? 'one task' : `${count} tasks`
  return (
    <Dialog title={`Cancel ${tasks}?`} onClose={onClose}>
      <p>Their agents are stopped, and their callers see the tasks as canceled. This cannot be undone.</p>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Keep running
        </button>
        <ActionButton kind="danger" isBusy={isBusy} onClick={onConfirm}>
          Cancel {tasks}
        </ActionButton>
      </div>
    </Dialog>
  )
}

function useCancel(reload: () => void) {
  const [isCanceling, setCanceling] = useState(false)
  const [problem, setProblem] = useState<string>()
  const cancel = useCallback(
    async (tasks: readonly TaskRow[]) => {
      setCanceling(true)
      setProblem(undefined)
      try {
        const { results } = await operator.cancelTasks({
          tasks: tasks.map(({ agent, taskId }) => ({ agent, taskId })),
        })
        const failed = results.filter(({ error }) => error !== undefined)
        if (failed.length > 0) setProblem(`${failed.length} tasks were not canceled: ${failed[0]?.error}`)
        reload()
      } catch (error) {
        setProblem(messageOf(error))
      }
      setCanceling(false)
    },
    [reload],
  )
  return { cancel, isCanceling, problem }
}

interface NothingProps {
  readonly isLoading: boolean
  readonly error: unknown
  readonly isFiltered: boolean
  readonly reload: () => void
}

function Nothing({ isLoading, error, isFiltered, reload }: NothingProps) {
  if (isLoading) return <LoadingState label="Loading tasks" />
  if (error !== undefined) return <ErrorState error={error} onRetry={reload} />
  if (isFiltered) {
    return (
      <EmptyState title="No task matches">
        Change the filters, or <a href={link('tasks')}>remove them</a>.
      </EmptyState>
    )
  }
  return (
    <EmptyState title="No tasks yet">
      A task appears here as soon as a caller sends a message that becomes one. Try it in the{' '}
      <a href={link('chat')}>chat</a>.
    </EmptyState>
  )
}
