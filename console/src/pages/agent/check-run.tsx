import type { CheckProgress, Finding, StreamItem } from 'parley-a2a/operator'
import { useEffect, useRef, useState } from 'preact/hooks'
import { createFrameBatch } from '../../api/frame-batch.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { messageOf, Notice } from '../../components/states.tsx'

interface CheckRunProps {
  readonly name: 'doctor' | 'conformance'
  readonly title: string
  readonly description: string
  readonly run: (signal: AbortSignal) => AsyncGenerator<StreamItem<CheckProgress>>
}

interface Progress {
  readonly state: 'idle' | 'running' | 'done' | 'failed'
  readonly total?: number
  readonly done: number
  /** What runs now, such as a probe of the doctor. */
  readonly step?: string
  readonly findings: readonly Finding[]
  readonly problem?: string
  readonly report?: object
}

/** What is counted: probes of the doctor, or checks of the suite. */
const units = { doctor: 'probes', conformance: 'checks' } as const

const nothing: Progress = { state: 'idle', done: 0, findings: [] }

/** Runs a check of an agent and shows its findings while they arrive, the worst first. */
export function CheckRun({ name, title, description, run }: CheckRunProps) {
  const [progress, setProgress] = useState(nothing)
  const [onlyProblems, setOnlyProblems] = useState(false)
  const abort = useRef<AbortController>(null)
  useEffect(() => () => abort.current?.abort(), [])

  async function start() {
    const controller = new AbortController()
    abort.current = controller
    setProgress({ ...nothing, state: 'running' })
    const batch = createFrameBatch<CheckProgress>((events) => setProgress((old) => events.reduce(next, old)))
    try {
      for await (const { value } of run(controller.signal)) batch.add(value)
      batch.flush()
      setProgress((old) => (old.state === 'running' ? { ...old, state: 'failed', problem: cutOff } : old))
    } catch (error) {
      batch.flush()
      const problem = controller.signal.aborted ? 'The run was stopped.' : messageOf(error)
      setProgress((old) => ({ ...old, state: 'failed', problem }))
    }
  }

  const { state, done, total, step, findings, problem, report } = progress
  const shown = findings
    .filter(({ outcome }) => !onlyProblems || rankOf(outcome) < 2)
    .toSorted((a, b) => rankOf(a.outcome) - rankOf(b.outcome))
  return (
    <div class="check-run">
      <p class="muted">{description}</p>
      <div class="form-actions">
        {state === 'running' ? (
          <button type="button" class="button" onClick={() => abort.current?.abort()}>
            <Icon name="stop" /> Stop
          </button>
        ) : (
          <ActionButton kind="primary" onClick={start}>
            <Icon name="play" /> {state === 'idle' ? `Run ${title.toLowerCase()}` : 'Run again'}
          </ActionButton>
        )}
        {report && <CopyButton text={() => JSON.stringify(report, null, 2)} label="Copy report as JSON" />}
      </div>
      {state !== 'idle' && (
        <div class="check-progress">
          {/* Without a value, it shows that something runs. */}
          {(state !== 'running' || total !== undefined) && (
            <progress
              max={total ?? Math.max(done, 1)}
              value={state === 'done' ? (total ?? done) : done}
              aria-label={title}
            />
          )}
          {state === 'running' && total === undefined && <progress aria-label={title} />}
          <span class="muted small breakable">
            {state === 'running' && step !== undefined && `Probing ${step}… `}
            <span class="tabular">
              {state === 'done' ? (total ?? done) : done}
              {total !== undefined && ` of ${total}`}
            </span>{' '}
            {units[name]} {state === 'running' ? 'so far' : 'made'}
          </span>
        </div>
      )}
      <p class="visually-hidden" role="status">
        {state === 'running' && `${title} runs.`}
        {state === 'done' && `${title} has ended, with ${findings.length} findings.`}
      </p>
      {problem && <Notice kind="error">{problem}</Notice>}
      {findings.length > 0 && (
        <>
          <ul class="plain badges" aria-label="Outcomes">
            {countsOf(findings).map(([outcome, count]) => (
              <li key={outcome}>
                <Badge tone={toneOf(outcome)}>{`${labelOf(outcome)}: ${count}`}</Badge>
              </li>
            ))}
          </ul>
          <label class="choice">
            <input
              type="checkbox"
              checked={onlyProblems}
              onChange={(event) => setOnlyProblems(event.currentTarget.checked)}
            />
            Only problems
          </label>
          <ul class="plain findings">
            {shown.map((finding, index) => (
              <li key={`${finding.id} ${index}`}>
                <FindingView finding={finding} />
              </li>
            ))}
          </ul>
          {shown.length === 0 && <p class="muted">No problems so far.</p>}
        </>
      )}
    </div>
  )
}

const cutOff = 'The connection was lost before the run ended. Run it again.'

function next(old: Progress, event: CheckProgress): Progress {
  switch (event.type) {
    case 'started':
      return { ...old, ...(event.total !== undefined && { total: event.total }) }
    case 'probe':
      return { ...old, done: event.done, step: event.title, ...(event.total !== undefined && { total: event.total }) }
    case 'finding': {
      const findings = [...old.findings, event.finding]
      // Without probes, each check has one finding.
      return { ...old, findings, ...(old.step === undefined && { done: event.done }) }
    }
    case 'done':
      return { ...old, state: 'done', report: event.report }
    case 'failed':
      return { ...old, state: 'failed', problem: event.message }
  }
}

function FindingView({ finding }: { readonly finding: Finding }) {
  const { id, outcome, level, title, detail, remedy, evidence } = finding
  return (
    <details class="finding">
      <summary>
        <Badge tone={toneOf(outcome)}>{labelOf(outcome)}</Badge>
        <span class="breakable">{title}</span>
        {level && <span class="muted small">{level}</span>}
      </summary>
      <div class="finding-body">
        <p class="muted small">
          <code class="breakable">{id}</code>
        </p>
        {detail && <p class="breakable">{detail}</p>}
        {remedy && (
          <p class="breakable">
            <strong>Remedy:</strong> {remedy}
          </p>
        )}
        {evidence && <CodeBlock text={evidence} label="Evidence" maxHeight="small" />}
      </div>
    </details>
  )
}

const outcomes: Readonly<Record<string, { readonly rank: number; readonly tone: Tone; readonly label: string }>> = {
  failed: { rank: 0, tone: 'bad', label: 'Failed' },
  error: { rank: 0, tone: 'bad', label: 'Error' },
  warning: { rank: 1, tone: 'warning', label: 'Warning' },
  'not-measured': { rank: 5, tone: 'neutral', label: 'Not measured' },
  info: { rank: 3, tone: 'active', label: 'Info' },
  passed: { rank: 4, tone: 'ok', label: 'Passed' },
  ok: { rank: 4, tone: 'ok', label: 'OK' },
}

type Tone = 'ok' | 'active' | 'warning' | 'bad' | 'neutral'

const rankOf = (outcome: string) => outcomes[outcome]?.rank ?? 3
const toneOf = (outcome: string) => outcomes[outcome]?.tone ?? 'neutral'
const labelOf = (outcome: string) => outcomes[outcome]?.label ?? outcome

function countsOf(findings: readonly Finding[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const { outcome } of findings) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return [...counts].toSorted(([a], [b]) => rankOf(a) - rankOf(b))
}
