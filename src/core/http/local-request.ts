/**
 * A request of a client in this process. A remote caller can set headers, but no members of the object. The member is
 * checked and not the class, because client and server may be bundled apart.
 */
export class LocalRequest extends Request {
  readonly isLocal = true
}

export function isLocalRequest(request: Request): request is LocalRequest {
  return 'isLocal' in request
}
