import type { AgentCard } from '../protocol/card.ts'
import type { Service } from '../protocol/service.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import { observed } from './observed.ts'

/** For `connect(url, { watch: watchClient(telemetry) })`: every call is watched, and tells the agent its trace. */
export function watchClient(telemetry: Telemetry): (service: Service, card: AgentCard) => Service {
  return (service, { name }) => observed(service, telemetry, { side: 'client', agent: name })
}
