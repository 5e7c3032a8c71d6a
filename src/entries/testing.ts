/** Helpers for tests: a client and an agent without a socket, scripted agents, virtual time, faults, conformance. */

export type { Clock } from '../base/clock.ts'
export { type ConformanceOptions, conformance } from '../conformance/conformance.ts'
export type { Check, ConformanceReport, Counts, Evidence, Outcome } from '../conformance/report.ts'
export type { Texts } from '../conformance/session.ts'
export { cut, delay, drop, duplicate, end, type Fault, lose, refuse, reorder, silence } from '../testing/faults.ts'
export { createPair, type Pair, type PairOptions } from '../testing/pair.ts'
export { type ScriptedAgent, type ScriptedOptions, scripted } from '../testing/scripted.ts'
export { createVirtualClock, type VirtualClock } from '../testing/virtual-clock.ts'
