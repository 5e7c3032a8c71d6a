import { expect, it } from 'vitest'
import { credentialsIn } from '../../../test/support/auth/request-credentials.ts'
import type { PeerCertificate } from '../../http/exchange.ts'
import { type MutualTlsOptions, mutualTls } from './mutual-tls.ts'

const certificate: PeerCertificate = {
  isTrusted: true,
  subject: 'CN=billing,O=Acme',
  names: { DNS: ['billing.acme.test'], URI: ['spiffe://acme.test/ns/prod/billing'] },
  fingerprint: 'ab',
}

function ask(options: MutualTlsOptions, shown: Partial<PeerCertificate> = {}) {
  return mutualTls(options).authenticate(credentialsIn({ certificate: () => ({ ...certificate, ...shown }) }))
}

it.each([
  [{}, 'CN=billing,O=Acme'],
  [{ id: 'dns' }, 'billing.acme.test'],
  [{ id: 'uri' }, 'spiffe://acme.test/ns/prod/billing'],
  [{ id: 'spiffe', trustDomain: 'acme.test' }, 'spiffe://acme.test/ns/prod/billing'],
] as const)('by %j takes %s for the id', async (options, id) => {
  expect(await ask(options)).toEqual({ principal: { id } })
})

it.each<[string, MutualTlsOptions, Partial<PeerCertificate>]>([
  ['of nobody we trust', {}, { isTrusted: false }],
  ['without such a name', { id: 'email' }, {}],
  ['with two of them', { id: 'dns' }, { names: { DNS: ['a', 'b'] } }],
  ['of another trust domain', { id: 'spiffe', trustDomain: 'evil.test' }, {}],
  ['whose URI is no SPIFFE id', { id: 'spiffe' }, { names: { URI: ['https://acme.test/x'] } }],
  ['whose SPIFFE id climbs', { id: 'spiffe' }, { names: { URI: ['spiffe://acme.test/a/../b'] } }],
  ['that was good until now', {}, { expires: Date.now() }],
  ['of which nobody knows until when it is good', {}, { expires: Number.NaN }],
  ['that may not call', { principal: () => false }, {}],
])('refuses a certificate %s', async (_, options, shown) => {
  expect(await ask(options, shown)).toHaveProperty('reason')
})

it('says until when it is good, unless more is known', async () => {
  const expires = Date.now() + 60_000
  expect(await ask({ id: 'dns' }, { expires })).toEqual({ principal: { id: 'billing.acme.test', expires } })
  const principal = () => ({ expires: expires - 1 })
  expect(await ask({ id: 'dns', principal }, { expires })).toMatchObject({ principal: { expires: expires - 1 } })
})

it('knows more of who it is, if told', async () => {
  const principal = (id: string) => ({ tenant: 'acme', scopes: [`call:${id}`] })
  expect(await ask({ id: 'dns', principal })).toEqual({
    principal: { id: 'billing.acme.test', tenant: 'acme', scopes: ['call:billing.acme.test'] },
  })
})

it('finds nothing where there is no certificate', async () => {
  expect(await mutualTls().authenticate(credentialsIn())).toBeUndefined()
  expect(await mutualTls().authenticate(credentialsIn({ certificate: () => undefined }))).toBeUndefined()
})
