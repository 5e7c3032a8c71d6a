import { readUsage } from '../core/tasks/usage-log.ts'
import { type ConsoleAgents, operatorLogOf } from './agents.ts'
import type { UsageRow } from './contract-tools.ts'
import { jsonAnswer } from './failures.ts'
import { type Route, readInteger } from './routes.ts'

const day = 24 * 60 * 60 * 1000

/** What the models of the agents were used for, by day and caller. */
export function usageRoutes(agents: ConsoleAgents, now: () => number = Date.now): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/usage',
      role: 'viewer',
      async handle({ query }) {
        const days = readInteger(query, 'days', { min: 1, max: 90, fallback: 30 })
        const since = Math.floor(now() / day) * day - (days - 1) * day
        const served = agents.all().filter(({ agent }) => agent.log.operator && !agent.foreign)
        const rows: UsageRow[] = []
        for (const agent of served) {
          const used = await readUsage(operatorLogOf(agent).records, since)
          rows.push(...used.map((row) => ({ agent: agent.id, ...row })))
        }
        return jsonAnswer({ rows: rows.sort((one, other) => other.day.localeCompare(one.day)) })
      },
    },
  ]
}
