import type { WireExchangeRow, WireRequest } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { messageOf, Notice } from '../../components/states.tsx'
import { formatClock } from '../../components/time.tsx'
import { requestOf } from './wire-exchange.tsx'

/** Requests that are shown. The log has all of them. */
const maxShown = 20

interface WireHistoryProps {
  readonly agent: string
  /** It is read again when a request is sent and when it has ended. */
  readonly isSending: boolean
  readonly onSelect: (request: WireRequest) => void
}

/** The last requests of this page to the agent, to edit and send again. */
export function WireHistory({ agent, isSending, onSelect }: WireHistoryProps) {
  const { value } = useResource(() => operator.wireLog({ agent, source: 'wire' }), [agent, isSending])
  const [problem, setProblem] = useState<string>()
  const rows = value?.exchanges.slice(0, maxShown) ?? []
  if (rows.length === 0) return null

  async function select({ id }: WireExchangeRow) {
    setProblem(undefined)
    try {
      onSelect(requestOf(await operator.wireExchange(id)))
    } catch (error) {
      setProblem(messageOf(error))
    }
  }

  return (
    <details class="wire-history">
      <summary>History</summary>
      {problem && <Notice kind="error">{problem}</Notice>}
      <ol class="plain">
        {rows.map((row) => (
          <li key={row.id}>
            <button type="button" class="button button-plain button-small" onClick={() => select(row)}>
              <span class="muted mono">{formatClock(row.at)}</span>{' '}
              <bdi class="truncate">{row.operation ?? row.url}</bdi>
              {row.version && <span class="muted">A2A {row.version}</span>}
              <span class="muted">{row.status === undefined ? 'no answer' : `HTTP ${row.status}`}</span>
            </button>
          </li>
        ))}
      </ol>
    </details>
  )
}
