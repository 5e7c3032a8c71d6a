/** Helpers for tests: a client and an agent without a socket, scripted agents, virtual time, faults, conformance. */

export { conformance } from '../conformance/conformance.ts'
export { proxyConformance } from '../conformance/proxy.ts'
export type { Check, ConformanceReport } from '../conformance/report.ts'
export type { Clock } from '../core/base/clock.ts'
export { type Fault, fault } from '../testing/faults.ts'
export { createPair, type Pair } from '../testing/pair.ts'
export { type ScriptedAgent, scripted } from '../testing/scripted.ts'
export { createVirtualClock, type VirtualClock } from '../testing/virtual-clock.ts'
