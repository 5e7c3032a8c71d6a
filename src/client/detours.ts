import type { Door, DoorsOptions } from '../dialects/doors.ts'
import { relativeDoors, skewedDoors } from '../dialects/other-doors.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { Service } from '../protocol/service.ts'
import type { Notice } from './notice.ts'
import { type Failure, isWorthTrying, verdictOn } from './wrong-door.ts'

/** The other ways to an agent, loaded when the one that its card names first has proved wrong. */
export interface Detours {
  /** The failure, if it is the fault of the door; undefined if another one would not help. */
  judge(door: Door, error: A2AError, operation: keyof Service): Failure | undefined
  /** Where to go after this door, whatever has failed before. */
  next(door: Door, failures: readonly Failure[]): Door | undefined
  /** Why a door is right that the card does not name. */
  reasonFor(door: Door): string
  noticeOf(door: Door, instead: Failure): Notice
}

export function createDetours(card: AgentCard, named: readonly Door[], options: DoorsOptions): Detours {
  const { cardUrl } = options
  const beside = cardUrl === undefined ? [] : relativeDoors(named, cardUrl)
  const doors = [...named, ...skewedDoors(card, named, options), ...beside]
  return {
    judge(door, error, operation) {
      const verdict = verdictOn(error, operation, door)
      return verdict && { door, error, verdict }
    },
    reasonFor: ({ origin }) => reasons[origin],
    noticeOf,
    next: (door, failures) => doors.slice(doors.indexOf(door) + 1).find((each) => isWorthTrying(each, failures)),
  }
}

function noticeOf({ url, binding, dialect }: Door, { error }: Failure): Notice {
  const message = `${url} (${binding}, A2A ${dialect.version}) was used instead: ${error.message}`
  return { type: 'detour', message, hint: `Correct the card: it should name ${url} as ${binding}.` }
}

const reasons: Readonly<Record<Door['origin'], string>> = {
  card: '',
  skew: 'the card names another version than the one that is spoken there',
  relative: 'the card names another address, and this one is beside the card',
}
