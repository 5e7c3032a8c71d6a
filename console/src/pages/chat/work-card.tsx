import type { Json } from 'parley-a2a/client'
import type { TraceRow } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { ArgumentList } from '../../components/answers/tool-result-form.tsx'
import { CodeBlock, JsonBlock } from '../../components/code-block.tsx'
import { Icon } from '../../components/icon.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { Elapsed, formatDuration } from '../../components/time.tsx'
import { link } from '../../router/links.ts'
import type { WorkEntry } from './conversation.ts'

const states = {
  running: { tone: 'active', label: 'Running' },
  completed: { tone: 'ok', label: 'Completed' },
  failed: { tone: 'bad', label: 'Failed' },
  unknown: { tone: 'neutral', label: 'Called' },
} as const

interface WorkCardProps {
  readonly entry: WorkEntry
  readonly agent: string
}

/** A tool call of the agent, or a call of another agent. It opens to arguments and result. */
export function WorkCard({ entry, agent }: WorkCardProps) {
  const [row, setRow] = useState<TraceRow>()
  const { kind, name, started, ended = row?.ended, texts, taskId } = entry
  const input = entry.input ?? parse(row?.input)
  const output = entry.output ?? parse(row?.output ?? row?.failure)
  const state = entry.state === 'unknown' && row ? (row.state === 'failed' ? 'failed' : 'completed') : entry.state

  /** Agents need not send what their tools got and returned. The trace of the task may have it. */
  async function complete() {
    if (row?.ended !== undefined || entry.output !== undefined || !hasFeature('history')) return
    const trace = await operator.trace({ agent, taskId }).catch(() => undefined)
    const candidates = trace?.rows.filter((each) => (each.remoteTaskId ?? each.callId) === entry.callId) ?? []
    const [nearest] = candidates.toSorted((one, other) => distance(one, entry) - distance(other, entry))
    setRow(nearest)
  }

  return (
    <details class="entry work-card" onToggle={({ currentTarget }) => currentTarget.open && complete()}>
      <summary>
        <Icon name={kind === 'tool' ? 'wire' : 'agent'} />
        <span class="muted small">{kind === 'tool' ? 'Tool' : 'Agent'}</span>
        <bdi class="work-name truncate" title={name}>
          {name}
        </bdi>
        <Badge tone={states[state].tone}>{states[state].label}</Badge>
        <span class="muted small tabular">
          {ended !== undefined && formatDuration(Math.max(0, ended - started))}
          {ended === undefined && state === 'running' && <Elapsed since={started} />}
        </span>
      </summary>
      <div class="work-content">
        <section>
          <h3 class="small">Arguments</h3>
          {input === undefined ? <p class="muted small">Not known.</p> : <Value label="Arguments" value={input} />}
        </section>
        <section>
          <h3 class="small">Result</h3>
          {texts.length === 0 && output === undefined && <p class="muted small">Not known.</p>}
          {output !== undefined && <Value label="Result" value={output} />}
          {texts.map((text, index) => (
            <p key={index} class="small breakable">
              {text}
            </p>
          ))}
        </section>
      </div>
      {row?.task && (
        <a class="small" href={link('tasks', row.task.agent, row.task.taskId)}>
          Open the called task
        </a>
      )}
    </details>
  )
}

function Value({ label, value }: { readonly label: string; readonly value: Json }) {
  if (label === 'Arguments') return <ArgumentList arguments={value} />
  if (typeof value === 'string') return <CodeBlock label={label} text={value} maxHeight="small" />
  return <JsonBlock label={label} value={value} maxHeight="small" />
}

function distance({ started }: TraceRow, entry: WorkEntry): number {
  return Math.abs(started - entry.started)
}

function parse(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
