import { isLogged, type TaskLogger } from '../../base/logger.ts'
import type { RuntimeSettings } from '../options.ts'
import type { Writer } from './writer.ts'

const ignore = () => {}

/** Begins to measure a turn, and returns the function that logs its end. Costs nothing if `info` is not logged. */
export function beginTurnLog(
  { logger, agent, clock }: Pick<RuntimeSettings, 'logger' | 'agent' | 'clock'>,
  writer: Pick<Writer, 'generation' | 'phase'>,
  taskLogger: () => TaskLogger,
): () => void {
  if (!isLogged(logger, 'info')) return ignore
  const start = clock.now()
  const { generation: before } = writer
  return () => {
    const { phase: state, generation } = writer
    const duration = Math.round(clock.now() - start)
    taskLogger().info({ agent: agent.profile.name, state, duration, events: generation - before }, 'turn ended')
  }
}
