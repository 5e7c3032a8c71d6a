import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import type { Guard } from '../../http/address-guard.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Looks up the addresses of a host, by DNS or whatever else the system uses. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>

export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true })

/**
 * Looks up a host once per connection, so that the connection uses the addresses that were checked. Every address must
 * pass: a public name that also points into a private network is an attack.
 */
export function pinnedLookup(guard: Guard, resolve: Resolve): LookupFunction {
  return (host, options, done) => {
    resolve(host).then(
      (addresses) => {
        try {
          for (const { address } of addresses) guard.checkAddress(host, address)
        } catch (error) {
          return done(asErrno(error), '', 0)
        }
        const [first] = addresses
        if (!first) return done(noAddress(host), '', 0)
        if (options.all) done(null, [...addresses])
        else done(null, first.address, first.family)
      },
      (error) => done(asErrno(error), '', 0),
    )
  }
}

function asErrno(error: unknown): NodeJS.ErrnoException {
  return error instanceof Error ? error : new Error(`${error}`)
}

function noAddress(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
}
