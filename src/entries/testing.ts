export type { Clock } from '../base/clock.ts'
export {
  type CallFault,
  cut,
  delay,
  drop,
  duplicate,
  end,
  type Fault,
  lose,
  refuse,
  reorder,
  silence,
} from '../testing/faults.ts'
export { type Pair, type PairOptions, pair } from '../testing/pair.ts'
export { type ScriptedAgent, type ScriptedOptions, type Step, scripted } from '../testing/scripted.ts'
export { createClock, type VirtualClock } from '../testing/virtual-clock.ts'
export type { Wire } from '../testing/wire.ts'
