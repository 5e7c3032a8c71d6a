import type { DeliveryRow, WebhookKey } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { Ago, formatDuration } from '../../components/time.tsx'

const tones = { delivered: 'ok', retrying: 'warning', redriven: 'active', dead: 'bad' } as const

const labels = {
  delivered: 'Delivered',
  retrying: 'Will be retried',
  redriven: 'Sent again',
  dead: 'Given up',
} as const

interface DeliveriesProps {
  readonly webhook: WebhookKey
  readonly onChange: () => void
}

/** The recent deliveries of a webhook, with what its receiver answered. */
export function Deliveries({ webhook, onChange }: DeliveriesProps) {
  const { agent, taskId, id } = webhook
  const { value, error, reload } = useResource(() => operator.deliveries(webhook), [agent, taskId, id])
  const [problem, setProblem] = useState<string>()
  if (!value) return error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />
  if (value.deliveries.length === 0) return <EmptyState title="No deliveries yet" />

  async function redeliver({ generation }: DeliveryRow) {
    setProblem(undefined)
    try {
      await operator.redeliver(webhook, generation)
      reload()
      onChange()
    } catch (caught) {
      setProblem(messageOf(caught))
    }
  }

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div class="delivery-table" tabIndex={0}>
      {problem && <Notice kind="error">{problem}</Notice>}
      <table>
        <caption class="visually-hidden">Deliveries</caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Outcome</th>
            <th scope="col">Answer</th>
            <th scope="col">Attempts</th>
            <th scope="col">Took</th>
            <th scope="col">When</th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {value.deliveries.map((delivery) => (
            <tr key={delivery.deliveryId}>
              <th scope="row">#{delivery.generation}</th>
              <td>
                <Badge tone={tones[delivery.outcome]}>{labels[delivery.outcome]}</Badge>
              </td>
              <td class="breakable">
                {delivery.status !== undefined && `HTTP ${delivery.status} `}
                {delivery.problem !== `answered with ${delivery.status}` && (
                  <bdi class="muted small">{delivery.problem}</bdi>
                )}
              </td>
              <td>{delivery.attempts}</td>
              <td>{formatDuration(delivery.latency)}</td>
              <td>
                <Ago at={delivery.at} />
              </td>
              <td>
                {delivery.outcome === 'dead' && (
                  <ActionButton onClick={() => redeliver(delivery)}>Redeliver</ActionButton>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
