import { useEffect } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx'
import { Ago, formatClock, formatTime } from '../../components/time.tsx'
import './registry.css'

const refreshAfter = 5_000

/** The mesh peer that this server is, the peers that it knows, and the last envelopes. */
export function MeshPage() {
  const { value, error, reload } = useResource(() => operator.mesh(), [])
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), refreshAfter)
    return () => clearInterval(timer)
  }, [reload])
  if (!value) {
    return (
      <Page title="Mesh">{error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />}</Page>
    )
  }
  const { self, peers, envelopes } = value
  return (
    <Page title="Mesh" lead={<bdi>{self.id}</bdi>}>
      <dl class="card mesh-self">
        <dt class="muted">Address</dt>
        <dd>
          <code class="breakable">{self.url}</code>
        </dd>
        {self.fingerprint && (
          <>
            <dt class="muted">Key</dt>
            <dd>
              <code class="breakable">{self.fingerprint}</code> <CopyButton text={self.fingerprint} label="Copy key" />
            </dd>
          </>
        )}
      </dl>
      <h2>Peers</h2>
      {peers.length === 0 ? (
        <EmptyState title="No peers yet">A peer appears here after its first handshake.</EmptyState>
      ) : (
        <ul class="plain registry-list">
          {peers.map(({ id, url, state, lastSeen }) => (
            <li key={id} class="card registry-agent">
              <div class="registry-head">
                <h3 class="breakable">
                  <bdi>{id}</bdi>
                </h3>
                <Badge tone={state === 'established' ? 'ok' : 'neutral'}>{state}</Badge>
              </div>
              {url && <code class="small breakable">{url}</code>}
              {lastSeen !== undefined && (
                <p class="muted small">
                  Last envelope <Ago at={lastSeen} />
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
      <h2>Last envelopes</h2>
      {envelopes.length === 0 ? (
        <EmptyState title="No envelopes yet" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        <div class="card envelope-table" tabIndex={0}>
          <table>
            <caption class="visually-hidden">The last envelopes</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Direction</th>
                <th scope="col">Peer</th>
                <th scope="col">Type</th>
                <th scope="col">Problem</th>
              </tr>
            </thead>
            <tbody>
              {envelopes.map(({ at, direction, peer, type, id, problem }) => (
                <tr key={`${id} ${direction}`}>
                  <td>
                    <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
                      {formatClock(at)}
                    </time>
                  </td>
                  <td>{direction === 'in' ? 'Received' : 'Sent'}</td>
                  <td class="breakable">
                    <bdi>{peer}</bdi>
                  </td>
                  <td>
                    <bdi>{type}</bdi>
                  </td>
                  <td class="breakable">
                    <bdi>{problem}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Page>
  )
}
