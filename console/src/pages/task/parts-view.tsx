import type { TaskDetail } from 'parley-a2a/operator'
import { CodeBlock, JsonBlock } from '../../components/code-block.tsx'

type Part = TaskDetail['task']['artifacts'][number]['parts'][number]

/** The parts of a message or an artifact. Consecutive texts of a streamed artifact are joined. */
export function PartsView({ parts, label }: { readonly parts: readonly Part[]; readonly label: string }) {
  return (
    <div class="parts">
      {joined(parts).map((part, index) => (
        <PartView key={index} part={part} label={label} />
      ))}
    </div>
  )
}

function PartView({ part, label }: { readonly part: Part; readonly label: string }) {
  if ('text' in part) return <CodeBlock text={part.text} label={label} maxHeight="small" />
  if ('data' in part) return <JsonBlock value={part.data} label={label} maxHeight="small" />
  const name = part.filename ?? part.mediaType ?? 'file'
  if ('url' in part) {
    return (
      <p class="breakable small">
        <bdi>{name}</bdi>: <code class="breakable">{part.url}</code>
      </p>
    )
  }
  // Any content becomes a download of bytes: a browser must not show it as a page of this origin.
  const href = `data:application/octet-stream;base64,${part.raw}`
  return (
    <a class="button button-small" href={href} download={safeName(name)}>
      Download <bdi>{name}</bdi>
    </a>
  )
}

function joined(parts: readonly Part[]): readonly Part[] {
  const result: Part[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (last && 'text' in last && 'text' in part) result[result.length - 1] = { ...last, text: last.text + part.text }
    else result.push(part)
  }
  return result
}

/** A file name without paths, control characters and characters that change the direction of text. */
function safeName(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}/\\:*?"<>|]/gu, '_').slice(0, 100) || 'file'
}
