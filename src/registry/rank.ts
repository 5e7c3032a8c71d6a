import type { RegistryEntry } from './entry.ts'

const tier = 1_000_000

/** Lower is better: it completed a task, conforms, can be reached; among equals who was faster. */
export function rankOf(entry: RegistryEntry): number {
  // A peer that registered speaks our protocol; nobody has measured how fast.
  if (entry.kind === 'mesh') return 1.5 * tier
  const { reachable, conforms, completed } = entry.sightings
  const latency = Math.min(tier - 1, Math.max(0, Math.round(completed?.latency ?? reachable?.latency ?? tier)))
  if (!reachable?.ok || !conforms?.ok) return 3 * tier + latency
  if (completed) return (completed.ok ? 0 : 2 * tier) + latency
  return tier + latency
}
