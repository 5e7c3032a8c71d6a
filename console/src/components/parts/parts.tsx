import type { Part } from 'parley-a2a/client'
import { useEffect, useState } from 'preact/hooks'
import { JsonBlock, makeVisible } from '../code-block.tsx'
import { Icon } from '../icon.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { formatBytes } from '../time.tsx'
import './parts.css'

/** Images and media up to this size are shown; others can be downloaded. In base64 characters. */
const maxShownMedia = 14_000_000

/** The parts of a message or an artifact. Their content is hostile: nothing of it runs or loads anything. */
export function Parts({ parts, isPlain }: { readonly parts: readonly Part[]; readonly isPlain?: boolean }) {
  return (
    <div class="parts">
      {parts.map((part, index) => (
        <PartView key={index} part={part} {...(isPlain && { isPlain })} />
      ))}
    </div>
  )
}

/** Consecutive texts of a streamed artifact are one text. */
export function joinedText(parts: readonly Part[]): readonly Part[] {
  const result: Part[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (last && 'text' in last && 'text' in part) result[result.length - 1] = { ...last, text: last.text + part.text }
    else result.push(part)
  }
  return result
}

function PartView({ part, isPlain }: { readonly part: Part; readonly isPlain?: boolean }) {
  if ('text' in part) {
    return isPlain ? (
      <p class="parts-text breakable" dir="auto">
        {part.text}
      </p>
    ) : (
      <Markdown text={part.text} />
    )
  }
  if ('data' in part) return <JsonBlock value={part.data} label="Data" maxHeight="small" />
  return 'raw' in part ? <RawFile {...part} /> : <LinkedFile {...part} />
}

interface FileProps {
  readonly filename?: string
  readonly mediaType?: string
}

/** The name of a file without characters that reverse or hide a part of it, such as the ending. */
export function safeFileName(name: string | undefined): string {
  const visible = makeVisible(name ?? '').replaceAll(/[\\/:*?"<>|\n\r\t]/g, '_')
  return visible === '' ? 'file' : visible.slice(0, 200)
}

function RawFile({ raw, filename, mediaType = 'application/octet-stream' }: FileProps & { readonly raw: string }) {
  const [address, setAddress] = useState<string>()
  const kind = raw.length > maxShownMedia ? undefined : kindOf(mediaType)
  useEffect(() => {
    const bytes = bytesOf(raw)
    // A page of the agent must not open in the origin of the console, so every file is downloaded as bytes.
    const blob = bytes && new Blob([bytes], { type: kind ? mediaType : 'application/octet-stream' })
    const created = blob && URL.createObjectURL(blob)
    setAddress(created)
    return () => created && URL.revokeObjectURL(created)
  }, [raw, mediaType, kind])
  const name = safeFileName(filename)
  return (
    <figure class="file">
      {address && kind === 'image' && <img src={address} alt={name} />}
      {address && kind === 'audio' && (
        // biome-ignore lint/a11y/useMediaCaption: agents send no captions
        <audio controls src={address} />
      )}
      {address && kind === 'video' && (
        // biome-ignore lint/a11y/useMediaCaption: agents send no captions
        <video controls src={address} />
      )}
      <figcaption>
        <bdi class="breakable">{name}</bdi>
        <span class="muted small">
          <bdi>{mediaType.slice(0, 100)}</bdi>, {formatBytes(Math.floor((raw.length * 3) / 4))}
        </span>
        {address ? (
          <a class="button button-small" href={address} download={name}>
            <Icon name="download" /> Download<span class="visually-hidden"> {name}</span>
          </a>
        ) : (
          <span class="muted small">not valid base64</span>
        )}
      </figcaption>
    </figure>
  )
}

function LinkedFile({ url, filename, mediaType }: FileProps & { readonly url: string }) {
  const isWeb = /^https?:\/\//i.test(url)
  return (
    <div class="file file-link">
      {filename && <bdi class="breakable">{safeFileName(filename)}</bdi>}
      {isWeb ? (
        <a
          class="breakable"
          href={url}
          target="_blank"
          rel="noopener noreferrer nofollow"
          title="Opens another website"
        >
          {makeVisible(url)}
        </a>
      ) : (
        <code class="breakable">{makeVisible(url).slice(0, 2_000)}</code>
      )}
      {mediaType && (
        <span class="muted small">
          <bdi>{mediaType.slice(0, 100)}</bdi>
        </span>
      )}
    </div>
  )
}

function kindOf(mediaType: string): 'image' | 'audio' | 'video' | undefined {
  if (/^image\/(?:png|jpeg|gif|webp|avif|svg\+xml)$/i.test(mediaType)) return 'image'
  if (/^audio\//i.test(mediaType)) return 'audio'
  return /^video\//i.test(mediaType) ? 'video' : undefined
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const text = atob(base64)
    const bytes = new Uint8Array(text.length)
    for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index)
    return bytes
  } catch {
    return undefined
  }
}
