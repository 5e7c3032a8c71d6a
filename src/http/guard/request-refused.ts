/** Why an address is not asked. */
export type Refusal =
  | 'bad-url'
  | 'scheme'
  | 'userinfo'
  | 'port'
  | 'metadata'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'shared'
  | 'multicast'
  | 'unspecified'
  | 'translated'
  | 'reserved'
  /** It redirects, and nobody wants that here. */
  | 'redirect'
  | 'downgrade'

/** A request that was not sent: the guard does not let it out. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly code = 'ERR_REQUEST_REFUSED'
  readonly reason: Refusal

  constructor(reason: Refusal, detail: string) {
    super(detail)
    this.reason = reason
  }
}

/** Also of another copy of this module, as in another bundle. */
export function isRefused(error: unknown): error is RequestRefused {
  return error instanceof Error && 'code' in error && error.code === 'ERR_REQUEST_REFUSED' && 'reason' in error
}
