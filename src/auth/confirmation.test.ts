import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { credentialsIn } from '../../test/support/auth/request-credentials.ts'
import type { Json } from '../base/json.ts'
import { checkConfirmation } from './jwt.ts'

const certificate = Buffer.from('a certificate')
const digest = createHash('sha256').update(certificate)
const fingerprint = digest.copy().digest('hex')
const thumbprint = digest.copy().digest('base64url')
const shown = { isTrusted: true, subject: 'CN=x', names: {}, fingerprint }

function ask(confirmation: Json | undefined, certificates: typeof shown | undefined) {
  const verdict = { principal: { id: 'alice' }, ...(confirmation !== undefined && { confirmation }) }
  return checkConfirmation(verdict, credentialsIn({ certificate: () => certificates }))
}

it('takes a token that is bound to nothing from everybody', () => {
  expect(ask(undefined, undefined)).toHaveProperty('principal')
})

it('takes a token that is bound to a certificate from who has shown it', () => {
  expect(ask({ 'x5t#S256': thumbprint }, shown)).toHaveProperty('principal')
})

it.each<[string, Json, typeof shown | undefined]>([
  ['a certificate that was not shown', { 'x5t#S256': thumbprint }, undefined],
  ['another certificate', { 'x5t#S256': thumbprint }, { ...shown, fingerprint: 'ab'.repeat(32) }],
  ['a key that is proven by DPoP', { jkt: 'x' }, shown],
  ['a certificate and something else', { 'x5t#S256': thumbprint, jkt: 'x' }, shown],
  ['nothing that can be read', 'x', shown],
])('refuses a token that is bound to %s', (_, confirmation, certificates) => {
  expect(ask(confirmation, certificates)).toHaveProperty('reason')
})

it('leaves other verdicts as they are', () => {
  expect(checkConfirmation(undefined, credentialsIn())).toBeUndefined()
  expect(checkConfirmation({ reason: 'x' }, credentialsIn())).toEqual({ reason: 'x' })
})
