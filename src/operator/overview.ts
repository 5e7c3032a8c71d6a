import { defined } from '../core/base/json.ts'
import type { MinuteSummary } from '../core/tasks/operator-log.ts'
import { type ConsoleAgent, type ConsoleAgents, operatorLogOf } from './agents.ts'
import type { AgentFigures, AgentOverview, Overview, OverviewPoint, OverviewWindow } from './contract-tools.ts'
import { invalid, jsonAnswer } from './failures.ts'
import { floorMinute, percentileOf, rollUpMinutes, summarizeMinutes } from './minutes.ts'
import type { Route } from './routes.ts'

const minute = 60_000

/** The length of a window and of its points, in milliseconds. */
const windows: Readonly<Record<OverviewWindow, { readonly length: number; readonly step: number }>> = {
  hour: { length: 60 * minute, step: minute },
  day: { length: 24 * 60 * minute, step: 15 * minute },
}

/** The counts, rates and durations of all agents. */
export function overviewRoutes(agents: ConsoleAgents, now: () => number = Date.now): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/overview',
      role: 'viewer',
      async handle({ query }) {
        const window = query.get('window') ?? 'hour'
        if (window !== 'hour' && window !== 'day') throw invalid('window', 'expected hour or day')
        return jsonAnswer(await readOverview(agents, window, now()))
      },
    },
  ]
}

async function readOverview(agents: ConsoleAgents, window: OverviewWindow, now: number): Promise<Overview> {
  const served = agents.all().filter(({ agent }) => agent.log.operator && !agent.foreign)
  const all = await Promise.all(served.map((agent) => measure(agent, window, now)))
  const minutes = all.flatMap((each) => each.minutes)
  return {
    window,
    total: defined({
      ...sum(all.map(({ overview }) => overview)),
      points: pointsOf(minutes, window, now),
      durations: percentilesOf(minutes),
    }),
    agents: await Promise.all(all.map(async ({ agent, overview }) => ({ ...overview, ...(await healthOf(agent)) }))),
  }
}

async function measure(agent: ConsoleAgent, window: OverviewWindow, now: number) {
  const log = operatorLogOf(agent)
  await rollUpMinutes(log, now)
  const from = startOf(window, now)
  const stored = await log.minutes(from)
  // What happened since the last stored minute is read from the tasks.
  const open = Math.max(from, (stored.at(-1)?.minute ?? from - minute) + minute)
  const minutes = [...stored, ...(await summarizeMinutes(log, open, now + minute))]
  const { phases, stuck, leases, bytes } = await log.counts()
  const { gauges } = agent.agent
  const overview: AgentOverview = defined({
    tasks: phases,
    stuck,
    points: pointsOf(minutes, window, now),
    durations: percentilesOf(minutes),
    now: { runs: gauges.runs(), queued: gauges.queued(), leases },
    store: defined({ kind: log.kind, bytes }),
  })
  return { agent, overview, minutes }
}

async function healthOf(agent: ConsoleAgent): Promise<Pick<AgentFigures, 'agent' | 'health' | 'lastActivity'>> {
  const [isReady, { tasks }] = await Promise.all([agent.agent.isReady(), operatorLogOf(agent).tasks({ limit: 1 })])
  const health = agent.agent.isDraining() ? 'draining' : isReady ? 'up' : 'down'
  return defined({ agent: agent.id, health, lastActivity: tasks[0]?.changed })
}

function percentilesOf(minutes: readonly MinuteSummary[]): AgentOverview['durations'] {
  const durations = durationsOf(minutes)
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => percentileOf(durations, share))
  return p50 === undefined || p95 === undefined || p99 === undefined ? undefined : { p50, p95, p99 }
}

function durationsOf(minutes: readonly MinuteSummary[]): Readonly<Record<string, number>> {
  const durations: Record<string, number> = {}
  for (const [bucket, number] of minutes.flatMap((summary) => Object.entries(summary.durations))) {
    durations[bucket] = (durations[bucket] ?? 0) + number
  }
  return durations
}

function startOf(window: OverviewWindow, now: number): number {
  const { length, step } = windows[window]
  return Math.floor(floorMinute(now) / step) * step + step - length
}

/** One point for every step of the window, also if nothing happened in it. */
function pointsOf(minutes: readonly MinuteSummary[], window: OverviewWindow, now: number): readonly OverviewPoint[] {
  const { length, step } = windows[window]
  const from = startOf(window, now)
  return Array.from({ length: length / step }, (_, index) => {
    const at = from + index * step
    const own = minutes.filter((summary) => summary.minute >= at && summary.minute < at + step)
    const count = (name: 'started' | 'completed' | 'failed' | 'canceled') =>
      own.reduce((total, each) => total + each[name], 0)
    return {
      at,
      started: count('started'),
      completed: count('completed'),
      failed: count('failed'),
      canceled: count('canceled'),
      ...percentilesOf(own),
    }
  })
}

function sum(overviews: readonly AgentOverview[]): Omit<AgentOverview, 'points'> {
  const total = (read: (overview: AgentOverview) => number) => overviews.reduce((all, each) => all + read(each), 0)
  const tasks: Record<string, number> = {}
  for (const [phase, count] of overviews.flatMap((each) => Object.entries(each.tasks))) {
    tasks[phase] = (tasks[phase] ?? 0) + count
  }
  return {
    tasks,
    stuck: total(({ stuck }) => stuck),
    now: {
      runs: total(({ now }) => now.runs),
      queued: total(({ now }) => now.queued),
      leases: total(({ now }) => now.leases),
    },
    store: {
      kind: [...new Set(overviews.map(({ store }) => store.kind))].join(', '),
      bytes: total(({ store }) => store.bytes ?? 0),
    },
  }
}
