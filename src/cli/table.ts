import { stripVTControlCharacters } from 'node:util'
import type { Format, Output } from './output.ts'

/** A cell of a table: its text, and how a terminal shows it. */
export interface Cell {
  readonly text: string
  readonly format?: Format
}

/** Prints a table that fits into the terminal. The last column takes what is left and is cut there. */
export function printTable(headings: readonly string[], rows: readonly (readonly Cell[])[], output: Output): void {
  const width = process.stdout.columns || 80
  const all = [headings.map((text): Cell => ({ text, format: 'bold' })), ...rows]
  const widths = headings.map((_, column) => Math.max(...all.map((row) => widthOf(row[column]?.text ?? ''))))
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap, 0)
  const last = Math.max(8, width - before - 1)
  for (const row of all) {
    const cells = row.map(({ text, format }, column) => {
      const isLast = column === headings.length - 1
      const shown = isLast ? cut(text, last) : text
      const padding = isLast ? '' : ' '.repeat((widths[column] ?? 0) - widthOf(text) + gap)
      return `${format ? output.style(shown, format) : shown}${padding}`
    })
    output.print(cells.join('').trimEnd())
  }
}

/** Columns between two cells. */
const gap = 2

/** The first line of a text, as long as it fits. */
export function cut(text: string, width: number): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > width ? `${line.slice(0, Math.max(1, width - 1))}…` : line
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
}

/** The color of a state, by its name in any spelling. */
export function stateFormat(state: string): Format | undefined {
  const name = state
    .toLowerCase()
    .replace(/^task_state_/, '')
    .replaceAll('_', '-')
  return stateFormats[name]
}

const stateFormats: Readonly<Record<string, Format>> = {
  submitted: 'cyan',
  working: 'cyan',
  'input-required': 'yellow',
  'auth-required': 'yellow',
  completed: 'green',
  failed: 'red',
  rejected: 'red',
  stuck: 'red',
  canceled: 'dim',
}

/** How long ago a time was, such as `3 min ago`. Undefined or invalid times are unknown. */
export function relativeTime(time: number | string | undefined, now = Date.now()): string {
  const at = typeof time === 'string' ? Date.parse(time) : time
  if (at === undefined || !Number.isFinite(at)) return 'unknown'
  const seconds = Math.round((now - at) / 1000)
  if (seconds < -5) return new Date(at).toISOString().slice(0, 16).replace('T', ' ')
  if (seconds < 5) return 'now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`
  return seconds < 30 * 86_400 ? `${Math.floor(seconds / 86_400)} d ago` : new Date(at).toISOString().slice(0, 10)
}
