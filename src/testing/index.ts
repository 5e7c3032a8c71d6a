export type { Clock } from '../protocol/clock.ts'
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
} from './fault.ts'
export { type Pair, type PairOptions, pair } from './pair.ts'
export { type ScriptedAgent, type ScriptedOptions, type Step, scripted } from './scripted.ts'
export { createClock, type VirtualClock } from './virtual-clock.ts'
export type { Wire } from './wire.ts'
