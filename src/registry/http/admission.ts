import { createAuth } from '../../auth/auth.ts'
import type { AuthOptions } from '../../auth/options.ts'
import type { Incoming } from '../../http/exchange.ts'
import { isLoopback } from '../../http/loopback.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Logger } from '../../protocol/logger.ts'
import { anonymous } from '../../protocol/model.ts'
import { ownerOf } from '../../protocol/owner.ts'

/**
 * Who may add agents, and remove their own. `local`: whoever calls this machine by a name of its own, and through no
 * proxy; only for servers that listen on a loopback address. `none`: everybody.
 */
export type RegistryAuth = AuthOptions | 'none' | 'local'

/** By whom a change is made. Throws `A2AError`. */
export type Admit = (incoming: Incoming) => Promise<string>

export function createAdmission(choice: RegistryAuth | undefined, logger: Logger): Admit {
  const everybody = ownerOf(anonymous)
  if (choice === undefined) {
    return async () => {
      throw new A2AError('forbidden', 'This registry takes no changes by HTTP: its operator has not said from whom.')
    }
  }
  if (choice === 'none') return async () => everybody
  if (choice === 'local') {
    return async (incoming) => {
      if (isLocal(incoming)) return everybody
      throw new A2AError('forbidden', 'This registry takes changes only from this machine.')
    }
  }
  const auth = createAuth(choice, { realm: 'registry', logger })
  return async (incoming) => ownerOf(await auth.principalOf(incoming))
}

/** A page of another origin may have this machine asked by a name that leads here; then it is the name that tells. */
function isLocal({ header }: Incoming): boolean {
  const host = header('host') ?? ''
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'].some((name) => header(name) !== undefined)
  const url = `http://${host}`
  return !isForwarded && URL.canParse(url) && isLoopback(new URL(url).hostname)
}
