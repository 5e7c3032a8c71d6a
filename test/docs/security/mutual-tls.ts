import { mutualTls } from '../../../src/entries/auth.ts'

/** `key` and `cert` belong to the server; `ca` issues the certificates of callers. */
export function byCertificate(key: string, cert: string, ca: string) {
  const mesh = mutualTls({
    id: 'spiffe',
    trustDomain: 'example.com',
    principal: (id) => id.startsWith('spiffe://example.com/prod/') && { scopes: ['reports:read'] },
  })
  return { tls: { key, cert, ca }, auth: { schemes: { mesh }, require: [{ mesh: ['reports:read'] }] } }
}
