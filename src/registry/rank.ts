import type { RegistryEntry } from './entry.ts'

const tier = 1_000_000

/** Lower is better: it completed a task, conforms and can be reached, was not tried; among equals who was faster. */
export function rankOf(entry: RegistryEntry): number {
  // A peer that registered speaks our protocol; nobody has measured how fast.
  if (entry.kind === 'mesh') return 1.5 * tier
  const { reachable, conforms, completed } = entry.sightings
  const latency = Math.min(tier - 1, Math.max(0, Math.round(completed?.latency ?? reachable?.latency ?? tier)))
  if (reachable?.ok === false || !conforms?.ok) return 4 * tier + latency
  if (completed) return (completed.ok ? 0 : 3 * tier) + latency
  // Of a card in a catalog nobody knows whether its agent is there.
  return (reachable ? tier : 2 * tier) + latency
}
