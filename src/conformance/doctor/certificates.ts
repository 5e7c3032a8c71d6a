/** Why a certificate is not trusted. */
export type CertificateFault = keyof typeof remedies

const codes: Readonly<Record<string, CertificateFault>> = {
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not-yet-valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'other-host',
}

/** The fault that the innermost cause of an error names. Unknown authorities are the rest. */
export function certificateFaultOf(error: unknown, depth = 0): CertificateFault {
  if (!(error instanceof Error) || depth > 4) return 'unknown-authority'
  const fault = codes[`${(error as { readonly code?: unknown }).code}`]
  const cause = error instanceof AggregateError ? error.errors[0] : error.cause
  return fault ?? certificateFaultOf(cause, depth + 1)
}

/** What the operator of the agent has to do. */
export function certificateRemedy(fault: CertificateFault): string {
  return remedies[fault]
}

const remedies = {
  expired: 'The certificate has expired: renew it, and automate the renewal.',
  'not-yet-valid': 'The certificate is not valid yet: install one that is, and check the clocks of both machines.',
  'other-host': 'The certificate is for other host names: have it issued for this one, or write the name that it has.',
  'unknown-authority': 'Install a certificate whose authority callers trust, with all intermediate certificates.',
}
