import { refused } from '../agent/refused.ts'
import type { Turn } from '../agent/turn.ts'

/** The turn for a tool whose run is one step of it: within a step there are no questions, calls and other steps. */
export function turnWithin(turn: Turn, tool: string): Turn {
  const no = (what: string) => () =>
    refused(`turn.${what}() is not for a tool that is stored as a whole: give "${tool}" the option usesTurn: true.`)
  return {
    ...turn,
    ask: no('ask'),
    step: no('step'),
    requireInput: no('requireInput'),
    requireAuth: no('requireAuth'),
    callAll: no('callAll'),
    callFirst: no('callFirst'),
    call: () => {
      const rejected = no('call')()
      return Object.assign(rejected, {
        async *[Symbol.asyncIterator]() {
          yield await rejected
        },
      })
    },
  }
}
