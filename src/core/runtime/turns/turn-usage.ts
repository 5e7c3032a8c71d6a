import type { AgentEvents } from '../../agent/content.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { addUsage, type Usage, type UsageSum, usageKey } from '../../protocol/extensions/usage.ts'
import type { Principal } from '../../protocol/model.ts'
import type { RuntimeSettings } from '../options.ts'

export interface TurnUsageOptions {
  readonly settings: Pick<RuntimeSettings, 'chargeUsage' | 'telemetry' | 'usageLog'>
  readonly principal: Principal
  readonly agentEvents: AgentEvents
  /** Called with the reason when the caller has used up a limit. */
  readonly onExceeded: (text: string) => void
}

/** Sums what the models of one turn use, and counts it. */
export class TurnUsage {
  readonly #options: TurnUsageOptions
  readonly #steps = new Map<string, UsageSum>()
  #total: UsageSum | undefined

  constructor(options: TurnUsageOptions) {
    this.#options = options
  }

  /** With a step, the usage is stored with its result. `isCounted`: an earlier attempt has counted it already. */
  async add(usage: Usage, step: string | undefined, isCounted: boolean): Promise<void> {
    if (step !== undefined) this.#steps.set(step, addUsage(this.#steps.get(step), usage))
    this.#sum(usage)
    if (isCounted) return
    const { settings, principal, onExceeded } = this.#options
    const { id, tenant } = principal
    settings.telemetry?.record?.({ type: 'usage', usage, ...defined({ principal: id, tenant }) })
    settings.usageLog?.add(usage, principal)
    const exceeded = await settings.chargeUsage?.(usage, principal)
    if (exceeded !== undefined) onExceeded(exceeded)
  }

  /** What a step has used, to be stored with its result. */
  ofStep(key: string): UsageSum | undefined {
    return this.#steps.get(key)
  }

  /** Adds the usage of a step that an earlier attempt has run and counted. */
  restore(usage: UsageSum): void {
    this.#sum(usage)
  }

  /** The metadata of a reply. Every status has it by itself, because it is in the metadata of the task. */
  metadata(): JsonObject | undefined {
    return this.#total && { [usageKey]: { ...this.#total } }
  }

  #sum(usage: Usage | UsageSum): void {
    this.#total = addUsage(this.#total, usage)
    const metadata = this.metadata()
    if (metadata) this.#options.agentEvents.addTaskMetadata(metadata)
  }
}
