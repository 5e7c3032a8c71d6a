import type { Presented } from '../../src/auth/scheme.ts'

export interface PresentedOptions extends Partial<Omit<Presented, 'header'>> {
  readonly headers?: Readonly<Record<string, string>>
}

/** A request with these credentials, and no more of it. */
export function presented({ headers = {}, ...options }: PresentedOptions = {}): Presented {
  return {
    method: 'POST',
    path: '/',
    query: '',
    secure: false,
    header: (name) => headers[name],
    certificate: () => undefined,
    ...options,
  }
}

export function bearing(token: string): Presented {
  return presented({ headers: { authorization: `Bearer ${token}` } })
}
