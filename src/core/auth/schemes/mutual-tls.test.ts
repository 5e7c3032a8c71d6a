import { expect, it } from 'vitest'
import { credentialsIn } from '../../../../test/support/auth/request-credentials.ts'
import type { PeerCertificate } from '../../http/exchange.ts'
import { type MutualTlsOptions, mutualTls } from './mutual-tls.ts'

const certificate: PeerCertificate = {
  isTrusted: true,
  subject: 'CN=billing,O=Acme',
  names: { DNS: ['billing.acme.test'], URI: ['spiffe://acme.test/ns/prod/billing'] },
  fingerprint: 'ab',
}

function authenticate(options: MutualTlsOptions, changes: Partial<PeerCertificate> = {}) {
  return mutualTls(options).authenticate(credentialsIn({ certificate: () => ({ ...certificate, ...changes }) }))
}

it.each([
  [{}, 'CN=billing,O=Acme'],
  [{ id: 'dns' }, 'billing.acme.test'],
  [{ id: 'uri' }, 'spiffe://acme.test/ns/prod/billing'],
  [{ id: 'spiffe', trustDomain: 'acme.test' }, 'spiffe://acme.test/ns/prod/billing'],
] as const)('with %j the id is %s', async (options, id) => {
  expect(await authenticate(options)).toEqual({ principal: { id } })
})

it.each<[string, MutualTlsOptions, Partial<PeerCertificate>]>([
  ['that is not trusted', {}, { isTrusted: false }],
  ['without the name', { id: 'email' }, {}],
  ['with two of the names', { id: 'dns' }, { names: { DNS: ['a', 'b'] } }],
  ['for all names of a domain', { id: 'dns' }, { names: { DNS: ['*.acme.test'] } }],
  ['whose subject is a wildcard name', {}, { subject: 'O=Acme,CN=*.acme.test' }],
  ['whose email is a wildcard', { id: 'email' }, { names: { email: ['*@acme.test'] } }],
  ['whose URI is a wildcard', { id: 'uri' }, { names: { URI: ['https://*.acme.test/'] } }],
  ['of another trust domain', { id: 'spiffe', trustDomain: 'evil.test' }, {}],
  ['whose URI is no SPIFFE id', { id: 'spiffe' }, { names: { URI: ['https://acme.test/x'] } }],
  ['whose SPIFFE id has dots', { id: 'spiffe' }, { names: { URI: ['spiffe://acme.test/a/../b'] } }],
  ['that has expired', {}, { expires: Date.now() }],
  ['with an invalid expiry', {}, { expires: Number.NaN }],
  ['whose id may not call', { principal: () => false }, {}],
])('a certificate %s is rejected', async (_, options, changes) => {
  expect(await authenticate(options, changes)).toHaveProperty('reason')
})

it('the principal expires with the certificate unless it has its own expiry', async () => {
  const expires = Date.now() + 60_000
  expect(await authenticate({ id: 'dns' }, { expires })).toEqual({ principal: { id: 'billing.acme.test', expires } })
  const principal = () => ({ expires: expires - 1 })
  expect(await authenticate({ id: 'dns', principal }, { expires })).toMatchObject({
    principal: { expires: expires - 1 },
  })
})

it('the principal option adds to the id', async () => {
  const principal = (id: string) => ({ tenant: 'acme', scopes: [`call:${id}`] })
  expect(await authenticate({ id: 'dns', principal })).toEqual({
    principal: { id: 'billing.acme.test', tenant: 'acme', scopes: ['call:billing.acme.test'] },
  })
})

it('a request without a certificate has no result', async () => {
  expect(await mutualTls().authenticate(credentialsIn())).toBeUndefined()
  expect(await mutualTls().authenticate(credentialsIn({ certificate: () => undefined }))).toBeUndefined()
})
