import type { Logger } from '../core/base/logger.ts'
import { createMemoryOperatorState } from '../core/base/operator-state.ts'
import type { Exchange, Incoming } from '../core/http/exchange.ts'
import { createHostCheck } from '../core/http/host-check.ts'
import type { AgentCard } from '../core/protocol/card.ts'
import { A2AError, loggedError } from '../core/protocol/errors.ts'
import type { TaskEvent } from '../core/protocol/events.ts'
import { anonymous, parseTimestamp, type Task, textOf } from '../core/protocol/model.ts'
import type { Call, Service } from '../core/protocol/service.ts'
import { errorPage } from '../core/server/http-endpoint.ts'
import type { OperatorLog, OperatorTask } from '../core/tasks/operator-log.ts'
import { createLoginLink, isSame, randomText } from './access.ts'
import type { ConsoleHosted } from './agents.ts'
import { createConsole } from './console.ts'
import { OperatorFailure } from './failures.ts'
import { consolePath } from './options.ts'
import type { ConsoleFiles } from './pages.ts'
import type { OperatorSession, Sessions } from './sessions.ts'

/** Milliseconds between two looks at a task of another agent. */
const pollInterval = 2_000

/** Tasks of another agent that are listed. */
const maxListed = 200

/** An agent of another server, with a client that has the credentials for it. */
export interface RelayedAgent {
  readonly url: string
  readonly card: AgentCard
  readonly service: Service
}

export interface ConsoleRelayOptions {
  readonly agents: readonly RelayedAgent[]
  readonly files: ConsoleFiles
  readonly version: string
  readonly logger: Logger
}

export interface ConsoleRelay {
  readonly exchange: Exchange
  /** The path to open in a browser. Its token is valid once. */
  readonly path: string
}

/**
 * The console for agents of other servers. The browser talks to this process only, which calls the agents by their
 * clients: credentials never reach the browser. A one-time token in the first address begins the only session.
 */
export function createConsoleRelay({ agents, files, version, logger }: ConsoleRelayOptions): ConsoleRelay {
  const link = createLoginLink()
  const hostCheck = createHostCheck({ hosts: [] })
  const hosted = agents.map((agent) => relayedAgent(agent, logger))
  const consoleExchange = createConsole({
    options: { auth: 'none', link },
    sessions: createRelaySessions(randomText()),
    mounted: () => hosted.map((agent) => ({ agent, path: '', hostname: undefined })),
    files,
    logger,
    lines: { process: '', of: () => [] },
    checks: {},
    version,
    started: Date.now(),
  })
  return {
    path: link.path,
    exchange: async (incoming) => {
      const { path } = incoming
      // A page of another host may lead its name to this machine.
      const problem = hostCheck?.(incoming)
      if (problem !== undefined) return errorPage(403, problem)
      if (path === '/') return { status: 303, headers: { location: `${consolePath}/` } }
      if (path === consolePath || path.startsWith(`${consolePath}/`)) return await consoleExchange(incoming)
      return { status: 404, headers: { 'content-type': 'text/plain' }, body: 'The console is at /console/.' }
    },
  }
}

const cookieName = 'parley-relay'

function createRelaySessions(secret: string): Sessions {
  const session: OperatorSession = { role: 'operator', principal: anonymous, isOpen: true }
  const isOwn = ({ header }: Incoming) =>
    (header('cookie') ?? '').split(';').some((pair) => isSame(pair.trim(), `${cookieName}=${secret}`))
  return {
    async require(incoming) {
      if (isOwn(incoming)) return session
      const text =
        'Open the address that `parley console` has printed. It is valid once: start it again for another browser.'
      throw new OperatorFailure(401, 'unauthenticated', text, { schemes: [] })
    },
    login: async () => ({ session }),
    begin: async () => ({
      session,
      cookie: `${cookieName}=${secret}; Path=${consolePath}; HttpOnly; SameSite=Strict`,
    }),
    logout: async () => undefined,
  }
}

/** The agent as the console needs it: its operations go to its own server. */
function relayedAgent({ url, card, service }: RelayedAgent, logger: Logger): ConsoleHosted {
  const { interfaces: _, signatures: __, ...about } = card
  return {
    service,
    uncheckedService: service,
    card: about,
    options: { auth: 'none', publicUrl: url },
    log: { operator: createRemoteLog(service), wait: (_taskId, _after, signal) => pause(signal) },
    push: undefined,
    gauges: { runs: () => 0, queued: () => 0, webhooks: () => 0 },
    recovery: 'fail',
    authenticate: () => anonymous,
    lastDialect: async () => undefined,
    isDraining: () => false,
    isReady: async () => true,
    onError: (error) => logger.error({ error: loggedError(error) }, 'a request failed unexpectedly'),
  }
}

/** The tasks of another agent, as its caller sees them: without the times of events, and only if the agent lists tasks. */
function createRemoteLog(service: Service): OperatorLog {
  const call = (): Call => ({ principal: anonymous, signal: AbortSignal.timeout(30_000) })

  async function listAll(): Promise<readonly Task[]> {
    try {
      return (await service.listTasks({ pageSize: 100 }, call())).tasks
    } catch (error) {
      // Versions before 1.0 cannot list tasks.
      if (error instanceof A2AError && error.code !== 'unauthenticated') return []
      throw error
    }
  }

  async function find(taskId: string): Promise<Task | undefined> {
    try {
      return await service.getTask({ taskId }, call())
    } catch (error) {
      if (error instanceof A2AError && error.code === 'task-not-found') return undefined
      throw error
    }
  }

  return {
    kind: 'another server',
    async tasks({ phases, contextId, search, changedSince = 0, limit }) {
      const all = (await listAll()).map(headOf).filter((task) => {
        if (phases && !phases.includes(task.phase)) return false
        if (contextId !== undefined && task.contextId !== contextId) return false
        if (search !== undefined && !`${task.taskId} ${task.contextId}`.includes(search)) return false
        return task.changed >= changedSince
      })
      return { tasks: all.slice(0, Math.min(limit, maxListed)), total: all.length }
    },
    async task(taskId) {
      const task = await find(taskId)
      return task && headOf(task)
    },
    async events(taskId, after, limit) {
      const task = await find(taskId)
      const events = task ? eventsOf(task) : []
      return events.map((event, index) => ({ generation: index + 1, event })).slice(after, after + limit)
    },
    async counts() {
      const phases: Record<string, number> = {}
      for (const { status } of await listAll()) phases[status.state] = (phases[status.state] ?? 0) + 1
      return { phases, stuck: 0, leases: 0 }
    },
    activity: async () => [],
    minutes: async () => [],
    keepMinutes: async () => {},
    ...createMemoryOperatorState(),
  }
}

function headOf(task: Task): OperatorTask {
  const { id: taskId, contextId, status, history } = task
  const changed = status.timestamp === undefined ? 0 : parseTimestamp(status.timestamp)
  const generation = eventsOf(task).length
  return {
    taskId,
    contextId,
    owner: anonymous.id,
    generation,
    phase: status.state,
    status,
    created: changed,
    changed,
    key: 0,
    request: history[0] ? textOf(history[0]) : '',
  }
}

/** Events that lead to the task. The other agent does not say in which order they happened. */
function eventsOf({ history, artifacts, status }: Task): readonly TaskEvent[] {
  return [
    ...history.map((message): TaskEvent => ({ type: 'message', message, principal: anonymous })),
    ...artifacts.map((artifact): TaskEvent => ({ type: 'artifact', artifact })),
    { type: 'status', status },
  ]
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, pollInterval)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
