import type { WireExchange, WireRequest } from 'parley-a2a/operator'
import { useMemo } from 'preact/hooks'
import { agents } from '../../api/agents.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { Notice } from '../../components/states.tsx'
import { formatBytes, formatDuration, formatTime } from '../../components/time.tsx'
import { curlOf, parleyOf, typescriptOf } from './copy-exchange.ts'
import { indent, readable } from './wire-answer.tsx'

/** Shown events; a longer stream shows its newest ones. */
const maxEvents = 500

interface WireExchangeViewProps {
  readonly exchange: WireExchange
  readonly onEdit: (request: WireRequest) => void
}

/** One request and its answer, as sent and received. */
export function WireExchangeView({ exchange, onEdit }: WireExchangeViewProps) {
  const { id, agent, at, method, url, version, binding, request, answer, events, duration, isOpen, error } = exchange
  const address = agents.value.find((each) => each.id === agent)?.url ?? url
  const parley = parleyOf(exchange, address)
  const typescript = typescriptOf(exchange, address)
  const shown = events.slice(-maxEvents)
  return (
    <article class="wire-exchange" aria-label={`Request ${id}`}>
      <div class="wire-status">
        <StatusBadge exchange={exchange} />
        <span class="muted small">
          {[version && `A2A ${version}`, binding, formatTime(at), isOpen ? 'going on' : formatDuration(duration ?? 0)]
            .filter((part) => part)
            .join(', ')}
          {answer && `, first byte after ${formatDuration(answer.firstByte)}`}
        </span>
      </div>
      <div class="wire-copy">
        <CopyButton label="curl" text={curlOf(exchange)} />
        {parley !== undefined && <CopyButton label="parley" text={parley} />}
        <CopyButton label="TypeScript" text={typescript} />
        {binding !== 'GRPC' && (
          <button type="button" class="button button-small" onClick={() => onEdit(requestOf(exchange))}>
            Edit and send again
          </button>
        )}
      </div>
      {error && <Notice kind="error">{error}</Notice>}
      <h3>Request</h3>
      <p class="breakable mono small">
        {method} {url}
      </p>
      <Headers headers={request.headers} label="Headers of the request" />
      {request.isShortened && <Notice kind="info">The body is longer than what the log keeps.</Notice>}
      <Body text={request.body} label="Body of the request" />
      <h3>Answer</h3>
      {answer ? (
        <>
          <Headers headers={answer.headers} label="Headers of the answer" />
          {answer.isShortened && <Notice kind="info">The answer is longer than what the log keeps.</Notice>}
          <Body text={answer.body} label="Body of the answer" />
        </>
      ) : (
        <p class="muted">{isOpen ? 'There is none yet.' : 'There was none.'}</p>
      )}
      {shown.length > 0 && (
        <ol class="plain wire-events" aria-label="Events">
          {shown.map((event, index) => (
            <li key={events.length - shown.length + index}>
              <span class="muted small">
                #{events.length - shown.length + index + 1}, +{formatDuration(event.at)}
              </span>
              <CodeBlock text={readable(event.text)} label={`Event ${index + 1}`} maxHeight="small" isJson />
            </li>
          ))}
        </ol>
      )}
      <p class="muted small">
        {formatBytes(exchange.sent)} sent, {formatBytes(exchange.received)} received
      </p>
    </article>
  )
}

/** The outcome of an exchange. */
export function StatusBadge({ exchange }: { readonly exchange: Pick<WireExchange, 'status' | 'error' | 'isOpen'> }) {
  const { status, error, isOpen } = exchange
  if (error !== undefined) return <Badge tone="bad">{status === undefined ? 'failed' : `HTTP ${status}`}</Badge>
  if (status === undefined) return <Badge tone="neutral">{isOpen ? 'waiting' : 'no answer'}</Badge>
  return <Badge tone={status >= 400 ? 'bad' : isOpen ? 'neutral' : 'ok'}>{`HTTP ${status}`}</Badge>
}

/** The request as the wire page sends it. Headers that were redacted are left out: the connection adds credentials again. */
export function requestOf({ agent, binding = 'JSONRPC', method, url, request }: WireExchange): WireRequest {
  const own = agents.value.find(({ id }) => id === agent)
  const path = !own || own.foreign ? url : url.slice(own.url.length) || '/'
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([, value]) => value !== '[redacted]'))
  return { agent, binding, method, url: path, headers, body: indent(request.body) ?? request.body }
}

function Headers({ headers, label }: { readonly headers: Readonly<Record<string, string>>; readonly label: string }) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  if (lines.length === 0) return null
  return (
    <details>
      <summary>Headers</summary>
      <CodeBlock label={label} maxHeight="small" text={lines.join('\n')} />
    </details>
  )
}

function Body({ text, label }: { readonly text: string; readonly label: string }) {
  const formatted = useMemo(() => indent(text), [text])
  if (text === '') return null
  return <CodeBlock text={formatted ?? text} isJson={formatted !== undefined} label={label} />
}
