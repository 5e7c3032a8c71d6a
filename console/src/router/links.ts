/**
 * The address of the console with a slash at its end, behind whatever prefix a proxy gives it: scripts are in `assets/`
 * below it. The development server serves it at its root.
 */
export const consoleUrl = new URL(import.meta.env.DEV ? '/' : '../', import.meta.url)

/** The path of the console, with a slash at its end. */
export const basePath = consoleUrl.pathname

type Segment = string | number

/** The address of a page of the console: `link('tasks', agent, taskId)`. */
export function link(...segments: readonly Segment[]): string {
  return basePath + segments.map((segment) => encodeURIComponent(segment)).join('/')
}

/** The address of a page with a query. Members without a value are left out. */
export function linkWithQuery(
  segments: readonly Segment[],
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(set.map(([name, value]) => [name, `${value}`]))
  return set.length === 0 ? link(...segments) : `${link(...segments)}?${search}`
}
