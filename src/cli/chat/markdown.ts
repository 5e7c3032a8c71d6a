import { stripVTControlCharacters } from 'node:util'
import { type Style, sanitize, wrap, wrapLine } from '../output.ts'
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
  /** The lines of a table, whose columns are as wide as their widest cell. */
  let table: readonly string[] = []

  function renderLine(line: string): string {
    if (fence.test(line)) {
      isCode = !isCode
      return style(line.trim().replace(/^(```|~~~)/, '') === '' ? '' : `  ${line.trim().slice(3)}`, 'dim')
    }
    return isCode ? `  ${style(line, 'cyan')}` : renderText(line, style)
  }

  function take(line: string): void {
    if (!isCode && tableRow.test(line)) {
      table = [...table, line]
      return
    }
    endTable()
    print(renderLine(line))
  }
  function endTable(): void {
    const isTable = table.length > 1 && delimiterRow.test(table[1] ?? '')
    for (const line of isTable ? renderTable(table, style) : table.map(renderLine)) print(line)
    table = []
  }

  return {
    write(text) {
      const lines = (pending + sanitize(text)).split('\n')
      pending = lines.pop() ?? ''
      for (const line of lines) take(line)
      // The mark of a code block changes the state only when its line is complete.
      if (!fence.test(pending)) grow(tableRow.test(pending) ? pending : renderLine(pending))
    },
    end() {
      if (pending !== '') take(pending)
      pending = ''
      endTable()
    },
  }
}

/** A complete text in Markdown, as lines for a terminal. */
export function renderMarkdown(text: string, style: Style): string {
  const lines: string[] = []
  const writer = createMarkdownWriter({ line: (line) => void lines.push(line), grow() {} }, style)
  writer.write(text)
  writer.end()
  return lines.map((line) => wrapLine(line, process.stdout)).join('\n')
}

const tableRow = /^\s*\|.*\|\s*$/
const delimiterRow = /^\s*\|(\s*:?-+:?\s*\|)+\s*$/

/** A table whose cells are wrapped until it fits into the terminal. */
function renderTable(lines: readonly string[], style: Style): readonly string[] {
  const [head = [], , ...body] = lines.map(cellsOf)
  const rows = [head, ...body].map((cells) => cells.map((cell) => renderMarks(cell, style)))
  const widths = fitting(head.map((_, column) => Math.max(1, ...rows.map((row) => widthOf(row[column] ?? '')))))
  const print = (row: readonly string[], isHead: boolean) => {
    const cells = widths.map((width, column) => wrap(row[column] ?? '', width))
    const height = Math.max(...cells.map(({ length }) => length))
    return Array.from({ length: height }, (_, index) =>
      cells
        .map((cell, column) => {
          const text = cell[index] ?? ''
          const padding = ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(text)))
          return `${isHead ? style(text, 'bold') : text}${padding}`
        })
        .join('  ')
        .trimEnd(),
    )
  }
  const rule = style(widths.map((width) => '─'.repeat(width)).join('  '), 'dim')
  const [first = [], ...others] = rows
  return [...print(first, true), rule, ...others.flatMap((row) => print(row, false))]
}

function cellsOf(line: string): readonly string[] {
  const inner = line.trim().replace(/^\||\|$/g, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

/** Column widths of which the widest give way until the table fits. */
function fitting(wanted: readonly number[]): readonly number[] {
  const widths = [...wanted]
  const available = (process.stdout.columns || 80) - 2 * (widths.length - 1)
  while (widths.reduce((sum, each) => sum + each, 0) > available) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] ?? 0) <= minColumn) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const minColumn = 6

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
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
