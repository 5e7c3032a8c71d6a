import type { Agent } from '../agent/agent.ts'
import { consoleLogger } from '../protocol/logger.ts'
import type { RuntimeOptions } from '../runtime/options.ts'
import { createRuntime, type Runtime } from '../runtime/runtime.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import { cardOf } from './card.ts'
import type { Behind, FaceOptions } from './face.ts'

export interface HandlerOptions extends Partial<Omit<RuntimeOptions, 'agent'>>, FaceOptions {}

/** An agent at work, ready to be given a face. */
export interface Resident extends Runtime, Behind {
  readonly options: HandlerOptions
}

export function createResident(agent: Agent, options: HandlerOptions): Resident {
  const { logger = consoleLogger, log = createMemoryLog() } = options
  const runtime = createRuntime({ ...options, logger, log, agent })
  let isDraining = false
  return {
    ...runtime,
    options,
    card: cardOf(agent),
    isDraining: () => isDraining,
    onError: (error) => logger.error({ error }, 'a request failed unexpectedly'),
    async drain(deadline) {
      isDraining = true
      await runtime.drain(deadline)
    },
  }
}
