import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import type { Guard } from '../../http/address-guard.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Where a host is, by the DNS or by what else the system asks. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>

export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true })

/**
 * Looks a host up once for each connection, and connects to nothing else than what was checked. All addresses must do:
 * a name that is public and points inside as well is meant to lead somewhere else than it says.
 */
export function pinnedLookup(guard: Guard, resolve: Resolve): LookupFunction {
  return (host, options, done) => {
    resolve(host).then(
      (found) => {
        try {
          for (const { address } of found) guard.checkAddress(host, address)
        } catch (error) {
          return done(asErrno(error), '', 0)
        }
        const [first] = found
        if (!first) return done(nothingFound(host), '', 0)
        if (options.all) done(null, [...found])
        else done(null, first.address, first.family)
      },
      (error) => done(asErrno(error), '', 0),
    )
  }
}

function asErrno(error: unknown): NodeJS.ErrnoException {
  return error instanceof Error ? error : new Error(`${error}`)
}

function nothingFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
}
