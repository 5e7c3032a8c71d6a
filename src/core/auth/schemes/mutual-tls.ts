import { defined } from '../../base/json.ts'
import { aFunction, checkOptions, oneOf, text } from '../../base/options.ts'
import type { PeerCertificate } from '../../http/exchange.ts'
import type { Principal } from '../../protocol/model.ts'
import { type AuthRequest, authFailure, challengeOf, type Scheme, withExpiry } from '../scheme.ts'

const alternativeNames = { dns: 'DNS', uri: 'URI', spiffe: 'URI', email: 'email' } as const

/** Options of `mutualTls`. */
export interface MutualTlsOptions {
  /**
   * The part of the certificate that is the caller's id: its whole `subject`, a subject alternative name (`dns`, `uri`,
   * `email`), or the SPIFFE id, which must be its only URI. Defaults to `subject`.
   */
  readonly id?: 'subject' | 'dns' | 'uri' | 'email' | 'spiffe'
  /** For SPIFFE: the trust domain that the id must belong to. */
  readonly trustDomain?: string
  /** Returns the rest of the principal, or false if this id may not call. Defaults to accepting every trusted certificate. */
  readonly principal?: (id: string, certificate: PeerCertificate) => Omit<Principal, 'id'> | false
  /** Reads the certificate from the request, such as from a header that only a proxy can set. Defaults to the connection's. */
  readonly certificate?: (request: AuthRequest) => PeerCertificate | undefined
  readonly description?: string
}

/**
 * Accepts callers with a client certificate. Needs `tls` of `serve`, or a server that passes certificates on.
 *
 * @example
 * await serve(echo, {
 *   tls: { key, cert, ca: [callerAuthority], requestCert: true },
 *   auth: { schemes: { certificate: mutualTls({ id: 'dns' }) } },
 * })
 */
export function mutualTls(options: MutualTlsOptions = {}): Scheme {
  checkOptions('mutualTls', options, {
    id: oneOf('subject', 'dns', 'uri', 'email', 'spiffe'),
    trustDomain: text,
    principal: aFunction,
    certificate: aFunction,
    description: text,
  })
  const { id: kind = 'subject', trustDomain, principal = () => ({}), description } = options
  const certificateOf = options.certificate ?? ((request: AuthRequest) => request.certificate())

  return {
    card: defined({ type: 'mutual-tls', description }),
    challenge: ({ realm }) => challengeOf('MutualTLS', { realm }),
    needsCertificate: options.certificate === undefined,
    authenticate(request) {
      const certificate = certificateOf(request)
      if (certificate === undefined) return undefined
      // A connection can outlive the certificate.
      const { expires } = certificate
      const isExpired = expires !== undefined && !(expires > Date.now())
      if (!certificate.isTrusted || isExpired) return authFailure('the certificate is not trusted, or has expired')
      const ids = idsIn(certificate, kind)
      const [id] = ids
      if (id === undefined || ids.length > 1)
        return authFailure(`the certificate has ${ids.length} ids of kind ${kind}`)
      if (isWildcard(id, kind)) return authFailure(`the certificate is for all names of ${id}, not for one caller`)
      if (kind === 'spiffe' && !isSpiffeId(id, trustDomain)) {
        return authFailure('the URI is not a SPIFFE id of the trust domain')
      }
      const details = principal(id, certificate)
      if (details === false) return authFailure(`${id} may not call`)
      const success = { principal: { ...details, id } }
      return expires === undefined ? success : withExpiry(success, expires)
    },
  }
}

function idsIn({ subject, names }: PeerCertificate, kind: NonNullable<MutualTlsOptions['id']>): readonly string[] {
  if (kind === 'subject') return subject === '' ? [] : [subject]
  return names[alternativeNames[kind]] ?? []
}

/** A certificate for `*.example.com` is shared by many machines, so it identifies none of them. */
function isWildcard(id: string, kind: NonNullable<MutualTlsOptions['id']>): boolean {
  return kind === 'subject' ? /(?:^|,)CN=\*/i.test(id) : id.includes('*')
}

/** SPIFFE ID §2: a lower-case domain, and a path without empty segments or segments of dots. */
function isSpiffeId(id: string, trustDomain: string | undefined): boolean {
  const [, domain, path = ''] = /^spiffe:\/\/([a-z\d._-]{1,255})((?:\/[\w.-]+)*)$/.exec(id) ?? []
  const hasDots = path.split('/').some((segment) => segment === '.' || segment === '..')
  return domain !== undefined && !hasDots && (trustDomain === undefined || domain === trustDomain)
}
