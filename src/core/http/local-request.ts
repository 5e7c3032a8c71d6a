/**
 * A request of a client in this process. A remote caller can set headers, but no members of the object. Not a class:
 * extending `Request` would load Node's fetch with the import of the package.
 */
export interface LocalRequest extends Request {
  readonly isLocal: true
}

export function createLocalRequest(...request: ConstructorParameters<typeof Request>): LocalRequest {
  return Object.assign(new Request(...request), { isLocal: true as const })
}

export function isLocalRequest(request: Request): request is LocalRequest {
  return 'isLocal' in request
}
