import { anObject, type OptionChecks, valueThat } from '../../core/base/options.ts'
import type { AgentSource, KeyValueStorage } from './conversations.ts'

/** The checks of the options that every front end has. Not in `conversations.ts`: the hook has to be small. */
export const commonChecks: OptionChecks<{ readonly agent: AgentSource; readonly storage?: KeyValueStorage }> = {
  agent: /* @__PURE__ */ valueThat('a client, an address or a function', Boolean),
  storage: anObject,
}
