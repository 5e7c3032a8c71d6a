import type { GatewayRefusal, GatewayRow, GatewayState, GatewayTraffic } from 'parley-a2a/operator'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { formatClock, formatDuration, formatTime } from '../../components/time.tsx'
import './gateway.css'

const refreshAfter = 5_000

const minute = 60_000

/** The agents behind a gateway: where they are, how they are called, and what became of the calls. */
export function GatewayPage() {
  const { value, error, reload } = useResource(() => operator.gateway(), [])
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), refreshAfter)
    return () => clearInterval(timer)
  }, [reload])
  if (!value) {
    return (
      <Page title="Gateway">
        {error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />}
      </Page>
    )
  }
  const { agents, sources, refusals } = value
  const ready = agents.filter(({ state }) => state === 'ready').length
  return (
    <Page
      title="Gateway"
      lead={`${ready} of ${agents.length} agents are ready. Figures of this process since it started.`}
    >
      {error !== undefined && <Notice kind="warning">{messageOf(error)}</Notice>}
      {agents.length === 0 ? (
        <EmptyState title="No agents yet">Agents appear here when a catalog lists them.</EmptyState>
      ) : (
        <ul class="plain gateway-agents">
          {agents.map((row) => (
            <li key={row.name}>
              <Agent row={row} />
            </li>
          ))}
        </ul>
      )}
      {sources.length > 0 && <Sources sources={sources} />}
      <Refusals refusals={refusals} />
    </Page>
  )
}

function Agent({ row }: { readonly row: GatewayRow }) {
  const { name, mode, url, state, failure, source, signature, endpoint, addresses, losses, redactions, traffic } = row
  const hasReason = addresses.some(({ failure: reason }) => reason === failure)
  const isFailing = addresses.some(({ state: each }) => each !== 'up')
  return (
    <article class="card gateway-agent" aria-label={name}>
      <header class="gateway-head">
        <h2 class="breakable">
          <bdi>{name}</bdi>
        </h2>
        <Badge tone={state === 'ready' ? (isFailing ? 'warning' : 'ok') : 'bad'}>
          {state === 'ready' ? (isFailing ? 'Impaired' : 'Ready') : 'Unreachable'}
        </Badge>
        <Badge tone="neutral">{modes[mode]}</Badge>
      </header>
      {failure && !hasReason && <Notice kind="warning">{failure}</Notice>}
      <dl class="gateway-facts">
        {state === 'ready' && (
          <Fact name="Served at">
            <code class="breakable">{url}</code> <CopyButton text={url} label="Copy address" />
          </Fact>
        )}
        <Fact name="Callers speak">{versionsOf(traffic)}</Fact>
        {endpoint && (
          <Fact name="Agent speaks">
            {shortVersion(endpoint.dialect)} over {endpoint.binding}
          </Fact>
        )}
        {signature && <Fact name="Card">{signature}</Fact>}
        {source && (
          <Fact name="Listed by">
            <code class="breakable">{source}</code>
          </Fact>
        )}
      </dl>
      <Figures traffic={traffic} />
      <Minutes traffic={traffic} />
      {addresses.length > 0 && addresses[0]?.url !== '' && (
        <Table caption={`Addresses of ${name}`} head={['Address', 'Health', 'Open calls']}>
          {addresses.map(({ url: address, state: health, open, failure: reason }) => (
            <tr key={address}>
              <td class="breakable">
                {address}
                {reason && <p class="muted small gateway-reason">{reason}</p>}
              </td>
              <td>
                <Badge tone={healthTones[health]}>{health}</Badge>
              </td>
              <td class="number">{open.toLocaleString()}</td>
            </tr>
          ))}
        </Table>
      )}
      <details>
        <summary class="small">Callers, operations, errors and losses</summary>
        <Counts title="Errors" counts={traffic.errors} none="No errors." />
        <Counts title="Refused by rule" counts={traffic.refusedBy} none="No call was refused." />
        <Counts title="Operations" counts={traffic.operations} none="No calls yet." />
        {Object.keys(redactions).length > 0 && <Counts title="Redacted" counts={redactions} none="" />}
        <h3>Lost in translation</h3>
        {losses.length === 0 ? (
          <p class="muted small">Nothing was lost.</p>
        ) : (
          <ul class="small">
            {losses.map(({ member, towards, dialect, count }) => (
              <li key={`${member} ${towards} ${dialect}`}>
                <code>{member}</code> towards the {towards}, which speaks {shortVersion(dialect)}:{' '}
                {count.toLocaleString()}
              </li>
            ))}
          </ul>
        )}
        {traffic.callers.length > 0 && (
          <Table caption={`Callers of ${name}`} head={['Caller', 'Calls', 'Failed or refused']}>
            {traffic.callers.map(({ id, calls, failed }) => (
              <tr key={id}>
                <td class="breakable">
                  <bdi>{id}</bdi>
                </td>
                <td class="number">{calls.toLocaleString()}</td>
                <td class="number">{failed.toLocaleString()}</td>
              </tr>
            ))}
          </Table>
        )}
      </details>
    </article>
  )
}

const modes: Readonly<Record<GatewayRow['mode'], string>> = {
  durable: 'Durable',
  'pass-through': 'Pass-through',
  local: 'Local',
}

const healthTones = { up: 'ok', down: 'bad', paused: 'warning' } as const

function Figures({ traffic: { calls, failed, refused, upstream } }: { readonly traffic: GatewayTraffic }) {
  const figures = [
    ['Calls', calls.toLocaleString()],
    ['Failed', failed.toLocaleString()],
    ['Refused', refused.toLocaleString()],
    ['To the agent', upstream.calls.toLocaleString()],
    ['Mean duration', upstream.calls === 0 ? '–' : formatDuration(upstream.meanDuration)],
  ] as const
  return (
    <dl class="gateway-figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt class="muted small">{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Calls in each of the last 60 minutes, as bars. The sum says the same to people who do not see them. */
function Minutes({ traffic: { minutes } }: { readonly traffic: GatewayTraffic }) {
  const now = Math.floor(Date.now() / minute) * minute
  const byTime = new Map(minutes.map((each) => [each.at, each]))
  const bars = Array.from({ length: 60 }, (_, index) => {
    const at = now - (59 - index) * minute
    return byTime.get(at) ?? { at, calls: 0, failed: 0 }
  })
  const most = Math.max(1, ...bars.map(({ calls }) => calls))
  const total = bars.reduce((sum, { calls }) => sum + calls, 0)
  const label =
    total === 0
      ? 'No calls in the last hour'
      : `${total.toLocaleString()} calls in the last hour, at most ${most.toLocaleString()} in a minute`
  return (
    <figure class="gateway-minutes">
      <svg viewBox="0 0 300 40" preserveAspectRatio="none" role="img" aria-label={label}>
        {bars.map(({ at, calls, failed }, index) => (
          <g key={at}>
            <rect class="bar-calls" x={index * 5} width="4" y={40 - (calls / most) * 40} height={(calls / most) * 40} />
            <rect
              class="bar-failed"
              x={index * 5}
              width="4"
              y={40 - (failed / most) * 40}
              height={(failed / most) * 40}
            />
          </g>
        ))}
      </svg>
      <figcaption class="muted small">{label}</figcaption>
    </figure>
  )
}

function Counts({
  title,
  counts,
  none,
}: {
  readonly title: string
  readonly counts: Record<string, number>
  readonly none: string
}) {
  const entries = Object.entries(counts).toSorted(([, one], [, other]) => other - one)
  return (
    <>
      <h3>{title}</h3>
      {entries.length === 0 ? (
        <p class="muted small">{none}</p>
      ) : (
        <ul class="plain gateway-counts">
          {entries.map(([name, count]) => (
            <li key={name} class="breakable">
              <code>{name}</code> {count.toLocaleString()}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function Sources({ sources }: { readonly sources: GatewayState['sources'] }) {
  return (
    <section class="gateway-section">
      <h2>Catalogs</h2>
      <Table caption="Catalogs and registries that list agents" head={['Address', 'Agents', 'Problem']}>
        {sources.map(({ url, agents, failure }) => (
          <tr key={url}>
            <td class="breakable">{url}</td>
            <td class="number">{agents.toLocaleString()}</td>
            <td class="breakable">{failure ?? '–'}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Refusals({ refusals }: { readonly refusals: readonly GatewayRefusal[] }) {
  return (
    <section class="gateway-section">
      <h2>Refused calls</h2>
      {refusals.length === 0 ? (
        <EmptyState title="No call was refused">Calls that a rule of the gateway refuses appear here.</EmptyState>
      ) : (
        <Table
          caption="The last calls that a rule refused"
          head={['Time', 'Caller', 'Agent', 'Operation', 'Rule', 'Answer']}
        >
          {refusals.map(({ at, principal, agent, operation, rule, code }, index) => (
            <tr key={`${at} ${index}`}>
              <td>
                <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
                  {formatClock(at)}
                </time>
              </td>
              <td class="breakable">
                <bdi>{principal}</bdi>
              </td>
              <td class="breakable">
                <bdi>{agent}</bdi>
              </td>
              <td>{operation}</td>
              <td class="breakable">
                <bdi>{rule}</bdi>
              </td>
              <td>{code}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

interface TableProps {
  readonly caption: string
  readonly head: readonly string[]
  readonly children: ComponentChildren
}

function Table({ caption, head, children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div class="gateway-table" tabIndex={0}>
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt class="muted">{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

/** The versions of callers, the most frequent first. */
function versionsOf({ versions }: GatewayTraffic): string {
  const names = Object.entries(versions).toSorted(([, one], [, other]) => other - one)
  return names.length === 0
    ? 'nothing yet'
    : names.map(([name, count]) => `${shortVersion(name)} (${count.toLocaleString()})`).join(', ')
}

function shortVersion(dialect: string): string {
  return dialect.replace(/^v/, '')
}
