import { defined } from '../../base/json.ts'
import { checkConnectOptions, dialectsOf, withOptionChecks } from '../../client/check-options.ts'
import type { Client } from '../../client/client.ts'
import { type Connect, connect as connectAnywhere } from '../../client/connect.ts'
import { withScheme } from '../../client/find-card.ts'
import type { ConnectOptions, Target, Transport } from '../../client/options.ts'
import { isThisMachine, type LoopbackRule } from '../../http/address-guard.ts'
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts'

/**
 * The `connect` for Node: unless a `fetch` is passed in, it calls public addresses only, whatever a card names. It calls
 * this machine only if the target is a URL of this machine: a program that connects to `http://localhost:4000` intends
 * that, but a card from elsewhere must not lead there.
 */
export const connect: Connect = connectBy(undefined)

/** `connect` with a rule for this machine. Without one, the target decides. */
export function connectBy(rule: LoopbackRule | undefined): Connect {
  return async (target: Target, options?: ConnectOptions) => {
    if (options) checkConnectOptions(options)
    const loopback = rule ?? (isOnThisMachine(target) ? 'allow' : 'refuse')
    const { fetch = sharedFetch(loopback), bindings } = options ?? {}
    const client = await connectAnywhere(target, {
      ...options,
      fetch,
      ...defined({
        bindings: bindings?.map((binding) => transportFor(binding, loopback)),
        dialects: options && dialectsOf(options),
      }),
    })
    // The types of the skills exist for the compiler only.
    return withOptionChecks(client) as Client<never>
  }
}

/** A transport that calls this machine only for clients of an agent on this machine. */
export interface LoopbackTransport extends Transport {
  /** The same transport for these clients. */
  readonly onThisMachine?: Transport
}

const sharedFetches = new Map<LoopbackRule, GuardedFetch>()

function sharedFetch(loopback: LoopbackRule): GuardedFetch {
  const fetch = sharedFetches.get(loopback) ?? createGuardedFetch({ loopback })
  sharedFetches.set(loopback, fetch)
  return fetch
}

function isOnThisMachine(target: Target): boolean {
  if (typeof target !== 'string' && !(target instanceof URL)) return false
  const address = withScheme(`${target}`)
  return /^https?:/i.test(address) && URL.canParse(address) && isThisMachine(new URL(address))
}

type BindingOption = NonNullable<ConnectOptions['bindings']>[number]

function transportFor(binding: BindingOption, loopback: LoopbackRule): BindingOption {
  if (typeof binding !== 'object' || loopback === 'refuse') return binding
  const { onThisMachine }: LoopbackTransport = binding
  return onThisMachine ?? binding
}
