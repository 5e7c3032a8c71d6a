import type { WireFrame } from 'parley-a2a/operator'
import { useMemo } from 'preact/hooks'
import { CodeBlock } from '../../components/code-block.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { Notice } from '../../components/states.tsx'
import { formatBytes, formatDuration } from '../../components/time.tsx'

/** Shown events; a longer stream shows its newest ones. */
const maxEvents = 500

/** The raw answer to a request: status, headers, and its body or its events with the time between them. */
export function WireAnswer({ frames }: { readonly frames: readonly WireFrame[] }) {
  const head = frames.find((frame) => frame.type === 'head')
  const end = frames.find((frame) => frame.type === 'end')
  const chunks = frames.filter((frame) => frame.type === 'chunk')
  const text = useMemo(() => chunks.map((chunk) => chunk.text).join(''), [chunks.length])
  const contentType = `${head?.headers['content-type'] ?? ''}`
  const isGrpc = contentType.startsWith('application/grpc')
  const isStream = isGrpc ? chunks.length > 1 : contentType.includes('event-stream')
  const start = frames[0]?.at ?? 0
  return (
    <div class="wire-answer">
      <div class="wire-status" role="status">
        {head && !isGrpc ? <Badge tone={head.status < 400 ? 'ok' : 'bad'}>{`HTTP ${head.status}`}</Badge> : null}
        {isGrpc && end ? <Badge tone={end.error ? 'bad' : 'ok'}>{end.error ? 'gRPC failed' : 'gRPC OK'}</Badge> : null}
        <span class="muted small">
          {end ? `${formatDuration(end.at - start)}, ` : 'receiving… '}
          {formatBytes(new Blob([text]).size)}
        </span>
      </div>
      {end?.error && <Notice kind="error">{end.error}</Notice>}
      {head && (
        <details>
          <summary>Headers</summary>
          <CodeBlock
            label="Headers of the answer"
            maxHeight="small"
            text={Object.entries(head.headers)
              .map(([name, value]) => `${name}: ${value}`)
              .join('\n')}
          />
        </details>
      )}
      {isStream ? (
        <Events frames={isGrpc ? chunks.map(toEvent) : chunks} start={start} />
      ) : (
        text !== '' && <Body text={text} />
      )}
    </div>
  )
}

/** A gRPC message is an event of its own. */
function toEvent(frame: Chunk): Chunk {
  return { ...frame, text: `data: ${frame.text.trim()}\n\n` }
}

type Chunk = Extract<WireFrame, { type: 'chunk' }>

function Body({ text }: { readonly text: string }) {
  const formatted = useMemo(() => indent(text), [text])
  return <CodeBlock text={formatted ?? text} isJson={formatted !== undefined} label="Body of the answer" />
}

/** Indents JSON. Huge answers stay as they are. */
export function indent(text: string): string | undefined {
  if (text.length > 5_000_000) return undefined
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return undefined
  }
}

interface SseEvent {
  readonly at: number
  readonly text: string
}

function Events({ frames, start }: { readonly frames: readonly Chunk[]; readonly start: number }) {
  const events = useMemo(() => eventsOf(frames), [frames.length])
  const shown = events.slice(-maxEvents)
  return (
    <ol class="plain wire-events" aria-label="Events">
      {shown.map(({ at, text }, index) => (
        <li key={events.length - shown.length + index}>
          <span class="muted small">
            #{events.length - shown.length + index + 1}, +{formatDuration(at - start)}
          </span>
          <CodeBlock text={text} label={`Event ${index + 1}`} maxHeight="small" isJson />
        </li>
      ))}
    </ol>
  )
}

/** Events end with a blank line, and chunks can end anywhere. */
function eventsOf(frames: readonly Chunk[]): readonly SseEvent[] {
  const events: SseEvent[] = []
  let rest = ''
  for (const { at, text } of frames) {
    const pieces = (rest + text).split(/\r?\n\r?\n/)
    rest = pieces.pop() ?? ''
    for (const piece of pieces) if (piece.trim() !== '') events.push({ at, text: readable(piece) })
  }
  if (rest.trim() !== '') events.push({ at: frames.at(-1)?.at ?? 0, text: readable(rest) })
  return events
}

/** The data of an event, indented if it is JSON, after its other fields. */
export function readable(event: string): string {
  const lines = event.split(/\r?\n/)
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart())
  const others = lines.filter((line) => !line.startsWith('data:'))
  return [...others, indent(data.join('\n')) ?? data.join('\n')].join('\n')
}
