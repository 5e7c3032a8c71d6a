import { expect, it } from 'vitest'
import { ownerOf } from '../protocol/model.ts'
import { isWithin } from './log.ts'

const acmeAlice = ownerOf({ id: 'alice', tenant: 'acme' })

const acmeBob = ownerOf({ id: 'bob', tenant: 'acme' })

it.each([
  ['its own', { owner: 'alice' }, 'alice', true],
  ['another one', { owner: 'alice' }, 'bob', false],
  ['the same id in a tenant', { owner: 'alice' }, acmeAlice, false],
  ['the same id without a tenant', { owner: acmeAlice }, 'alice', false],
  ['a named other', { owner: 'alice', also: { owners: ['bob'] } }, 'bob', true],
  ['one who is not named', { owner: 'alice', also: { owners: ['bob'] } }, 'carol', false],
  ['one of the tenant', { owner: acmeAlice, also: { tenants: ['acme'] } }, acmeBob, true],
  ['one of a tenant whose name begins alike', { owner: 'x', also: { tenants: ['ac'] } }, acmeBob, false],
  ['one without a tenant', { owner: acmeAlice, also: { tenants: ['acme'] } }, 'acme', false],
  ['anyone, for everyone', { owner: 'root', also: 'everyone' }, 'alice', true],
] as const)('isWithin decides about %s: %j, %s', (_, scope, owner, expected) => {
  expect(isWithin(scope, owner)).toBe(expected)
})
