import type { Part } from 'parley-a2a/client'
import { useState } from 'preact/hooks'
import { JsonBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { safeFileName } from '../../components/parts/parts.tsx'
import { formatClock, formatTime } from '../../components/time.tsx'

interface EntryToolsProps {
  readonly at: number | undefined
  readonly parts: readonly Part[]
}

/** What a person can do with an entry: see when it came, copy its text, and see what was really sent. */
export function EntryTools({ at, parts }: EntryToolsProps) {
  const [isRaw, setRaw] = useState(false)
  const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
  return (
    <>
      {isRaw && <JsonBlock value={parts} label="Raw parts" maxHeight="small" />}
      <div class="entry-tools muted small">
        {at !== undefined && (
          <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
            {formatClock(at).slice(0, 8)}
          </time>
        )}
        {text !== '' && <CopyButton text={text} isIconOnly />}
        <button
          type="button"
          class="button button-plain button-small"
          aria-pressed={isRaw}
          onClick={() => setRaw(!isRaw)}
        >
          Raw
        </button>
      </div>
    </>
  )
}

/** Downloads an artifact that is a single text or a single value: both are often files. */
export function ArtifactDownload({
  name,
  parts,
}: {
  readonly name: string | undefined
  readonly parts: readonly Part[]
}) {
  const [only] = parts
  if (!only || parts.length > 1 || !('text' in only || 'data' in only)) return null
  const isData = 'data' in only
  const fileName = safeFileName(isData && !/\.json$/i.test(name ?? '') ? `${name ?? 'data'}.json` : name)
  function download() {
    if (!only) return
    const content = 'text' in only ? only.text : 'data' in only ? JSON.stringify(only.data, null, 2) : ''
    const address = URL.createObjectURL(new Blob([content], { type: 'text/plain' }))
    Object.assign(document.createElement('a'), { href: address, download: fileName }).click()
    setTimeout(() => URL.revokeObjectURL(address), 10_000)
  }
  return (
    <button type="button" class="button button-plain button-small" onClick={download}>
      Download
    </button>
  )
}
