import type { TaskDetail, TraceRow } from 'parley-a2a/operator'
import { useId, useMemo, useState } from 'preact/hooks'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { isOpen } from '../../api/task-state.ts'
import { useResource } from '../../api/use-resource.ts'
import { CodeBlock, JsonBlock } from '../../components/code-block.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, Notice } from '../../components/states.tsx'
import { formatClock, formatDuration } from '../../components/time.tsx'
import { link } from '../../router/links.ts'
import { createScale, type Scale } from './trace-scale.ts'
import './trace.css'

const tones = {
  running: 'active',
  waiting: 'warning',
  completed: 'ok',
  failed: 'bad',
  canceled: 'neutral',
  interrupted: 'warning',
} as const

const labels: Readonly<Record<TraceRow['state'], string>> = {
  running: 'Running',
  waiting: 'Waiting',
  completed: 'Completed',
  failed: 'Failed',
  canceled: 'Canceled',
  interrupted: 'Interrupted',
}

const kinds: Readonly<Record<TraceRow['type'], string>> = {
  turn: 'Turn',
  question: 'Question',
  step: 'Step',
  model: 'Model',
  tool: 'Tool',
  call: 'Agent',
  webhook: 'Webhook',
  limit: 'Limit',
}

/** What a task did, as a waterfall. A row opens to its arguments and its result. */
export function Trace({ task }: { readonly task: TaskDetail }) {
  const { agent, taskId } = task
  const { value, error, reload } = useResource(() => operator.trace({ agent, taskId }), [agent, taskId, task.events])
  const [skips, setSkips] = useState<boolean>()
  const rows = value?.rows ?? []
  const now = isOpen(task) ? Date.now() : task.changed
  const whole = useMemo(() => createScale(rows, now, false), [rows, now])
  const withoutWaiting = useMemo(() => createScale(rows, now, true), [rows, now])
  if (!value) return error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />
  if (rows.length === 0) return <EmptyState title="No trace">Nothing is recorded of this task.</EmptyState>
  const isSkipping = skips ?? withoutWaiting.waited > whole.length / 2
  const scale = isSkipping ? withoutWaiting : whole
  return (
    <div class="trace">
      {value.isPartial && <Notice kind="warning">The task has many events. Those in its middle are not shown.</Notice>}
      <div class="trace-head">
        <TraceUsage usage={value.usage} />
        {withoutWaiting.waited > 0 && (
          <label class="trace-option">
            <input type="checkbox" checked={isSkipping} onChange={(event) => setSkips(event.currentTarget.checked)} />
            Leave out waiting ({formatDuration(withoutWaiting.waited)})
          </label>
        )}
      </div>
      <div class="card trace-rows">
        <div class="trace-line trace-scale muted small tabular" aria-hidden="true">
          <span class="trace-ticks">
            {[0, 0.25, 0.5, 0.75, 1].map((share) => (
              <span key={share}>{formatDuration(scale.length * share)}</span>
            ))}
          </span>
        </div>
        <ul class="plain" aria-label="Trace">
          {rows.map((row, index) => (
            <Row key={keyOf(row, index, rows)} row={row} scale={scale} now={now} />
          ))}
        </ul>
      </div>
    </div>
  )
}

/** A row that is open stays open when others are added before it. */
function keyOf({ type, name, started }: TraceRow, index: number, rows: readonly TraceRow[]): string {
  const isTwin = (row: TraceRow) => row.started === started && row.name === name && row.type === type
  return `${started} ${type} ${name} ${rows.slice(0, index).filter(isTwin).length}`
}

function TraceUsage({ usage }: { readonly usage: UsageSum | undefined }) {
  if (!usage) return null
  const { inputTokens, outputTokens, cost, models } = usage
  return (
    <span class="small">
      {inputTokens.toLocaleString()} tokens in, {outputTokens.toLocaleString()} out
      {cost !== undefined && `, cost ${(cost / 1_000_000).toLocaleString(undefined, { maximumFractionDigits: 6 })}`}
      {models && (
        <>
          {' '}
          · <bdi>{models.join(', ')}</bdi>
        </>
      )}
    </span>
  )
}

type UsageSum = NonNullable<Awaited<ReturnType<typeof operator.trace>>['usage']>

interface RowProps {
  readonly row: TraceRow
  readonly scale: Scale
  readonly now: number
}

function Row({ row, scale, now }: RowProps) {
  const id = useId()
  const [isShown, setShown] = useState(false)
  const { type, name, depth, state, started, ended = now, attempt = 1, inputTokens, outputTokens = 0, task } = row
  const duration = formatDuration(Math.max(0, ended - started))
  const shownName = task ? agentName(task.agent) : name
  const tokens = inputTokens === undefined ? '' : `${(inputTokens + outputTokens).toLocaleString()} tokens`
  return (
    <li>
      <button
        type="button"
        class="trace-line trace-row"
        aria-expanded={isShown}
        aria-controls={id}
        onClick={() => setShown(!isShown)}
      >
        <span class="trace-name" style={{ paddingInlineStart: `${depth}rem` }}>
          <span class={`trace-kind trace-kind-${type}`}>{kinds[type]}</span>
          <bdi class="truncate" title={shownName}>
            {shownName}
          </bdi>
          {attempt > 1 && type !== 'turn' && <span class="trace-attempt small">{attempt} attempts</span>}
        </span>
        <Badge tone={tones[state]}>{labels[state]}</Badge>
        <svg class="trace-bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true" focusable="false">
          <rect
            class={`trace-fill-${state === 'completed' ? type : state}`}
            x={Math.min(scale.at(started) * 1000, 996)}
            y="2"
            width={Math.max((scale.at(ended) - scale.at(started)) * 1000, 4)}
            height="10"
          />
        </svg>
        <span class="muted small tabular trace-tokens">{tokens}</span>
        <span class="small tabular trace-duration">{row.ended === undefined ? `${duration}…` : duration}</span>
      </button>
      {row.failure && !isShown && <bdi class="small trace-failure breakable">{row.failure}</bdi>}
      <div id={id} hidden={!isShown}>
        {isShown && <RowDetails row={row} />}
      </div>
    </li>
  )
}

function RowDetails({ row }: { readonly row: TraceRow }) {
  const { type, started, ended, input, output, failure, inputTokens, outputTokens, finish, task, remoteTaskId, url } =
    row
  const hasContent = input !== undefined || output !== undefined
  return (
    <div class="trace-details">
      <p class="muted small trace-facts">
        <span>{formatClock(started)}</span>
        {ended !== undefined && <span>to {formatClock(ended)}</span>}
        {inputTokens !== undefined && (
          <span>
            {inputTokens.toLocaleString()} tokens in, {(outputTokens ?? 0).toLocaleString()} out
          </span>
        )}
        {finish && <span>ended with {finish}</span>}
        {task && <a href={link('tasks', task.agent, task.taskId, 'trace')}>Open the called task</a>}
        {!task && remoteTaskId && (
          <span>
            task <bdi>{remoteTaskId}</bdi>
          </span>
        )}
        {url && (
          <a href={url} rel="noreferrer" target="_blank">
            Open in the tracing system
          </a>
        )}
      </p>
      {failure && (
        <p class="trace-error breakable">
          <bdi>{failure}</bdi>
        </p>
      )}
      {hasContent ? (
        <div class="trace-content">
          <Content label={inputLabels[type] ?? 'Arguments'} text={input} />
          <Content label={type === 'question' ? 'Answer' : 'Result'} text={output} />
        </div>
      ) : (
        type !== 'limit' && <p class="muted small">Arguments and results are not recorded.</p>
      )}
    </div>
  )
}

const inputLabels: Readonly<Partial<Record<TraceRow['type'], string>>> = {
  turn: 'Message',
  question: 'Question',
  model: 'Last message of the prompt',
  webhook: 'Delivery',
}

function Content({ label, text }: { readonly label: string; readonly text: string | undefined }) {
  if (text === undefined) return null
  const json = parse(text)
  return (
    <section>
      <h3 class="small">{label}</h3>
      {json === undefined ? (
        <CodeBlock label={label} text={text} maxHeight="small" />
      ) : (
        <JsonBlock label={label} value={json} maxHeight="small" />
      )}
    </section>
  )
}

/** A shortened value is no longer JSON, and is shown as text. */
function parse(text: string): unknown {
  if (!/^[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
