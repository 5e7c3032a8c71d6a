/**
 * The path at which a framework has mounted an agent: as many segments of the request's path as the route has before its
 * wildcard. Segments of the route may be parameters.
 */
export function basePathFor(route: string, path: string): string {
  const wildcard = /\/(?:\*|:\w+\{\.[*+]\})[^/]*$/.exec(`/${route}`.replace('//', '/'))
  return wildcard ? firstSegments(path, segmentsOf(wildcard.input.slice(0, wildcard.index))) : ''
}

/** The first segments of a path, without a slash at the end. */
export function firstSegments(path: string, count: number): string {
  return path
    .split('/')
    .slice(0, count + 1)
    .join('/')
}

/** How many segments a path has. A slash at its end starts no segment. */
export function segmentsOf(path: string): number {
  return path.split('/').filter((segment) => segment !== '').length
}
