import type { ComponentChild } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CopyButton } from './copy-button.tsx'

/** How many characters a block shows at first, and how many each click adds. */
const firstLength = 20_000
const stepLength = 200_000

interface CodeBlockProps {
  readonly text: string
  /** What the block contains, for screen readers. */
  readonly label: string
  readonly isJson?: boolean
  readonly maxHeight?: 'small' | 'large'
}

/** Text as a machine reads it, from any source and of any length: a long one is shown step by step. */
export function CodeBlock({ text, label, isJson, maxHeight = 'large' }: CodeBlockProps) {
  const [length, setLength] = useState(firstLength)
  const shown = useMemo(() => makeVisible(text.slice(0, length)), [text, length])
  return (
    <figure class="code-block" aria-label={label}>
      <div class="code-block-actions">
        <CopyButton text={text} isIconOnly />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre dir="ltr" class={`code-block-${maxHeight}`} tabIndex={0}>
        <code>{isJson ? highlight(shown) : shown}</code>
      </pre>
      {length < text.length && (
        <div class="code-block-more">
          <span class="muted">{(text.length - length).toLocaleString()} more characters</span>
          <button type="button" class="button button-small" onClick={() => setLength(length + stepLength)}>
            Show more
          </button>
        </div>
      )}
    </figure>
  )
}

/** A value as indented JSON. */
export function JsonBlock({ value, ...rest }: Omit<CodeBlockProps, 'text' | 'isJson'> & { readonly value: unknown }) {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? 'undefined', [value])
  return <CodeBlock text={text} isJson {...rest} />
}

/** Characters that change the direction or the visibility of others appear as escapes, so that a text cannot deceive. */
const invisible = /(?![\n\t\r])[\p{Cc}\p{Cf}]/gu

export function makeVisible(text: string): string {
  return text.replace(invisible, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** More spans than this make a page slow. */
const maxHighlighted = 60_000

function highlight(text: string) {
  if (text.length > maxHighlighted) return text
  const pieces: ComponentChild[] = []
  let end = 0
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match
    pieces.push(text.slice(end, match.index))
    end = match.index + whole.length
    if (string !== undefined && colon !== undefined) pieces.push(<span class="json-key">{string}</span>, colon)
    else pieces.push(<span class={string === undefined ? 'json-literal' : 'json-string'}>{whole}</span>)
  }
  pieces.push(text.slice(end))
  return pieces
}
