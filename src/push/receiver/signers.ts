import type { JWK, JWTVerifyGetKey } from 'jose'
import { KeysUnavailable, type RemoteKeysOptions } from '../../auth/jwks.ts'
import { keysOf } from '../../auth/jwt-tokens.ts'
import { Refusal } from './refusal.ts'

/** Somebody whose signatures are believed. */
export interface Signer {
  /** As its tokens name it (`iss`): the address of the agent. */
  readonly issuer: string
  /** Where its keys are published, or themselves. At `/.well-known/jwks.json` of the issuer by default. */
  readonly jwks?: string | readonly JWK[]
}

export interface KnownSigner {
  readonly issuer: string
  readonly keys: JWTVerifyGetKey
}

export function knownSigners(
  signers: readonly Signer[],
  options: Omit<RemoteKeysOptions, 'url'>,
): readonly KnownSigner[] {
  return signers.map(({ issuer, jwks = `${issuer.replace(/\/+$/, '')}/.well-known/jwks.json` }) => {
    const source = typeof jwks === 'string' ? { ...options, url: jwks } : { jwks }
    return { issuer, keys: keysOf(source) }
  })
}

/** What goes wrong with keys, said to the sender. Others is thrown as it came. */
export function keyProblem(error: unknown): Refusal | undefined {
  if (error instanceof KeysUnavailable) {
    const message = 'The keys of the sender cannot be fetched: try again later.'
    return new Refusal('keys-unavailable', message, { cause: error, retryAfter: 30 })
  }
  if (codeOf(error) === 'ERR_JWKS_NO_MATCHING_KEY') {
    return new Refusal('unknown-key', 'The key that signed the delivery is not among those of its sender.')
  }
  return undefined
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
