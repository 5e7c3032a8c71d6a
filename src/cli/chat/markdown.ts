import { type Style, sanitize } from '../output.ts'
import type { Screen } from './screen.ts'

/** Renders Markdown for a terminal as it arrives. */
export interface MarkdownWriter {
  write(text: string): void
  end(): void
}

export function createMarkdownWriter(
  { line: print, grow }: Pick<Screen, 'line' | 'grow'>,
  style: Style,
): MarkdownWriter {
  let pending = ''
  let isCode = false

  function renderLine(line: string): string {
    if (fence.test(line)) {
      isCode = !isCode
      return style(line.trim().replace(/^(```|~~~)/, '') === '' ? '' : `  ${line.trim().slice(3)}`, 'dim')
    }
    return isCode ? `  ${style(line, 'cyan')}` : renderText(line, style)
  }

  return {
    write(text) {
      const lines = (pending + sanitize(text)).split('\n')
      pending = lines.pop() ?? ''
      for (const line of lines) print(renderLine(line))
      // The mark of a code block changes the state only when its line is complete.
      if (!fence.test(pending)) grow(renderLine(pending))
    },
    end() {
      if (pending !== '') print(renderLine(pending))
      pending = ''
    },
  }
}

const fence = /^\s*(```|~~~)/

/** One line outside of code: headings, lists, quotes, rules and the marks inside of text. */
function renderText(line: string, style: Style): string {
  const heading = /^#{1,6}\s+(.*)$/.exec(line)
  if (heading) return style(renderMarks(heading[1] ?? '', style), 'bold')
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return style('─'.repeat(40), 'dim')
  const quote = /^\s*>\s?(.*)$/.exec(line)
  if (quote) return `${style('│', 'dim')} ${renderMarks(quote[1] ?? '', style)}`
  const item = /^(\s*)[-*+]\s+(.*)$/.exec(line)
  if (item) return `${item[1]}• ${renderMarks(item[2] ?? '', style)}`
  return renderMarks(line, style)
}

function renderMarks(text: string, style: Style): string {
  return text
    .split(/(`[^`]+`)/)
    .map((piece) =>
      piece.startsWith('`') && piece.endsWith('`') && piece.length > 2
        ? style(piece.slice(1, -1), 'cyan')
        : piece
            .replace(/\*\*([^*]+)\*\*|__([^_]+)__/g, (_, one, other) => style(one ?? other, 'bold'))
            .replace(/(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])/g, (_, inner) => style(inner, 'italic'))
            .replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, (_, label, url) => `${style(label, 'underline')} (${url})`),
    )
    .join('')
}
