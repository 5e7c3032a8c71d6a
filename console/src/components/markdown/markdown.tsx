import { useMemo, useState } from 'preact/hooks'
import { CodeBlock } from '../code-block.tsx'
import { createMarkdownReader, isCode, type MarkdownBlock, renderBlock } from './render-markdown.ts'
import './markdown.css'

/** How many characters are shown at first. */
const firstLength = 200_000

/** Markdown of an agent. While it grows, only its last blocks are rendered again. */
export function Markdown({ text }: { readonly text: string }) {
  const [reader] = useState(createMarkdownReader)
  const [length, setLength] = useState(firstLength)
  const shown = text.length > length ? text.slice(0, length) : text
  const blocks = useMemo(() => reader.read(shown), [reader, shown])
  return (
    <div class="markdown" dir="auto">
      {blocks.map((block, index) => (
        <Block key={index} block={block} />
      ))}
      {length < text.length && (
        <button type="button" class="button button-small" onClick={() => setLength(length * 4)}>
          Show more ({(text.length - length).toLocaleString()} characters)
        </button>
      )}
    </div>
  )
}

function Block({ block }: { readonly block: MarkdownBlock }) {
  const { raw, token } = block
  // The same text gives the same element, which Preact then leaves alone.
  return useMemo(() => {
    if (token.type === 'space' || token.type === 'def') return null
    if (isCode(token)) return <CodeBlock text={token.text} label={token.lang ? `Code: ${token.lang}` : 'Code'} />
    const isTable = token.type === 'table'
    return (
      <div
        class={isTable ? 'markdown-block markdown-table' : 'markdown-block'}
        tabIndex={isTable ? 0 : undefined}
        // renderBlock removes everything that is not text
        dangerouslySetInnerHTML={{ __html: renderBlock(block) }}
      />
    )
  }, [raw])
}
