import type { PeerCertificate } from '../../http/exchange.ts'
import type { Principal } from '../../protocol/model.ts'
import { type AuthRequest, authFailure, challengeOf, type Scheme, withExpiry } from '../scheme.ts'

const kinds = { dns: 'DNS', uri: 'URI', spiffe: 'URI', email: 'email' } as const

export interface MutualTlsOptions {
  /**
   * What of the certificate is the caller's id: the whole `subject` (by default), a subject alternative name (`dns`,
   * `uri`, `email`), or the SPIFFE id, which must be its only URI.
   */
  readonly id?: 'subject' | 'dns' | 'uri' | 'email' | 'spiffe'
  /** For SPIFFE: the trust domain that the id must be of. */
  readonly trustDomain?: string
  /** What more is known of who has this id, or false if it may not call. Whoever the authority vouches for by default. */
  readonly principal?: (id: string, certificate: PeerCertificate) => Omit<Principal, 'id'> | false
  /** Where the certificate comes from, if not from the connection: a proxy may say it in a header that it guards. */
  readonly certificate?: (presented: AuthRequest) => PeerCertificate | undefined
  readonly description?: string
}

/** Callers prove who they are on the connection, by a certificate. Needs `tls` of `serve`, or a rim that knows it. */
export function mutualTls(options: MutualTlsOptions = {}): Scheme {
  const { id: kind = 'subject', trustDomain, principal = () => ({}), description } = options
  const certificateOf = options.certificate ?? ((presented: AuthRequest) => presented.certificate())

  return {
    card: { type: 'mutual-tls', ...(description !== undefined && { description }) },
    challenge: ({ realm }) => challengeOf('MutualTLS', { realm }),
    needsCertificate: options.certificate === undefined,
    authenticate(presented) {
      const certificate = certificateOf(presented)
      if (certificate === undefined) return undefined
      // A connection may be older than the certificate is good.
      const { expires } = certificate
      const isOver = expires !== undefined && !(expires > Date.now())
      if (!certificate.isTrusted || isOver) return authFailure('the certificate is of nobody we trust, or not of today')
      const ids = idsIn(certificate, kind)
      const [id] = ids
      if (id === undefined || ids.length > 1)
        return authFailure(`the certificate has ${ids.length} ids of kind ${kind}`)
      if (kind === 'spiffe' && !isSpiffe(id, trustDomain)) return authFailure('it is no SPIFFE id of our trust domain')
      const known = principal(id, certificate)
      if (known === false) return authFailure(`${id} may not call`)
      const proven = { principal: { ...known, id } }
      return expires === undefined ? proven : withExpiry(proven, expires)
    },
  }
}

function idsIn({ subject, names }: PeerCertificate, kind: NonNullable<MutualTlsOptions['id']>): readonly string[] {
  if (kind === 'subject') return subject === '' ? [] : [subject]
  return names[kinds[kind]] ?? []
}

/** SPIFFE ID §2: a domain in lower case, and a path without dots alone or empty segments. */
function isSpiffe(id: string, trustDomain: string | undefined): boolean {
  const [, domain, path = ''] = /^spiffe:\/\/([a-z\d._-]{1,255})((?:\/[\w.-]+)*)$/.exec(id) ?? []
  const isPlain = !path.split('/').some((segment) => segment === '.' || segment === '..')
  return domain !== undefined && isPlain && (trustDomain === undefined || domain === trustDomain)
}
