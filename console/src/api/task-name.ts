import type { TaskRow } from 'parley-a2a/operator'

/** The name of a task for people: what its caller has requested. */
export function taskName({ request }: Pick<TaskRow, 'request'>): string {
  return (request && plainText(request)) || 'A request without text'
}

/** The last status message of a task in one line. Undefined if there is none. */
export function lastStatus({ summary }: Pick<TaskRow, 'summary'>): string | undefined {
  return summary && plainText(summary)
}

/** A line of Markdown without its marks. */
function plainText(line: string): string {
  return line
    .replace(/^\s*(?:#{1,6}|>|[-*+]|\d+\.)\s+/, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*_]{2}|`/g, '')
}
