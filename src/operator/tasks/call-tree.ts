import { defined, isList, isObject, type Json } from '../../core/base/json.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { lineageExtension } from '../../core/protocol/extensions/lineage.ts'
import { isEnded, isInterrupted, type Phase } from '../../core/protocol/states.ts'
import type { TimedEvent } from '../../core/tasks/operator-log.ts'
import { type ConsoleAgent, type ConsoleAgents, operatorLogOf } from '../agents.ts'
import type { CallNode, CallTree } from '../contract.ts'
import { scanEvents } from './detail.ts'

/** Levels and calls of a tree. Agents limit the depth of their calls, and may call many others. */
const maxDepth = 8
const maxCalls = 200

/**
 * The calls of a task to other agents, from the links in its events and its journal. Calls to agents of this server have
 * their own calls below them.
 */
export async function readCallTree(agents: ConsoleAgents, agent: ConsoleAgent, taskId: string): Promise<CallTree> {
  let left = maxCalls

  async function callsOf(caller: ConsoleAgent, callerTask: string, depth: number): Promise<readonly CallNode[]> {
    const log = operatorLogOf(caller)
    const task = await log.task(callerTask)
    if (!task || task.phase === 'expired' || depth > maxDepth) return []
    const links = linksIn(await scanEvents(log, task), task.changed)
    const nodes: CallNode[] = []
    for (const link of links) {
      if (left-- <= 0) break
      nodes.push(await describeCall(link, caller, depth))
    }
    return nodes
  }

  async function describeCall(link: CallLink, caller: ConsoleAgent, depth: number): Promise<CallNode> {
    const { agent: name, taskId: remoteTaskId, phase, started, ended, failure } = link
    const called = remoteTaskId === undefined ? undefined : await findServed(remoteTaskId, caller)
    const state = called?.phase ?? phase
    const end = called ? (isOver(called.phase) ? called.changed : undefined) : ended
    return defined({
      agent: name,
      task: called && { agent: called.agent.id, taskId: called.taskId },
      remoteTaskId,
      state: stateOf(state),
      started: called?.created ?? started,
      ended: end,
      failure,
      calls: called ? await callsOf(called.agent, called.taskId, depth + 1) : [],
    })
  }

  /** The called agent may be one of this server. */
  async function findServed(remoteTaskId: string, caller: ConsoleAgent) {
    for (const served of agents.all()) {
      if (!served.agent.log.operator || served.agent.log === caller.agent.log) continue
      const task = await operatorLogOf(served).task(remoteTaskId)
      if (task)
        return { agent: served, taskId: task.taskId, phase: task.phase, created: task.created, changed: task.changed }
    }
    return undefined
  }

  return { calls: await callsOf(agent, taskId, 1) }
}

interface CallLink {
  readonly agent: string
  readonly taskId?: string
  readonly phase: Phase
  readonly started: number
  readonly ended?: number
  readonly failure?: string
}

/** Every called task once, with the last state that an event names. */
function linksIn(events: readonly TimedEvent[], fallback: number): readonly CallLink[] {
  const links = new Map<string, CallLink>()
  for (const { event, at = fallback } of events) {
    for (const { agent, taskId, state } of [...childrenIn(event), ...stepLinksIn(event)]) {
      const before = links.get(taskId)
      const phase = (state ?? before?.phase ?? 'working') as Phase
      const started = before?.started ?? at
      links.set(
        taskId,
        defined({ agent, taskId, phase, started, ended: isOver(phase) ? (before?.ended ?? at) : undefined }),
      )
    }
    const failed = failureIn(event)
    if (failed)
      links.set(`failed ${links.size}`, {
        agent: failed.agent,
        phase: 'failed',
        started: at,
        ended: at,
        failure: failed.message,
      })
  }
  return [...links.values()]
}

interface Child {
  readonly agent: string
  readonly taskId: string
  readonly state?: string
}

function childrenIn(event: TaskEvent): readonly Child[] {
  const metadata =
    event.type === 'status'
      ? (event.metadata ?? event.status.message?.metadata)
      : event.type === 'artifact'
        ? event.artifact.metadata
        : undefined
  const lineage = metadata?.[lineageExtension]
  const children = isObject(lineage) && isList(lineage.children) ? lineage.children : []
  return children.flatMap((child) => readChild(child))
}

/** Journals of durable turns also have calls whose events are not relayed. */
function stepLinksIn(event: TaskEvent): readonly Child[] {
  if (event.type !== 'journal' || event.entry.type !== 'step' || !isObject(event.entry.result)) return []
  return readChild(event.entry.result.link ?? null)
}

function readChild(child: Json): readonly Child[] {
  if (!isObject(child)) return []
  const { agent, taskId, state } = child
  if (typeof agent !== 'string' || typeof taskId !== 'string') return []
  return [defined({ agent, taskId, state: typeof state === 'string' ? state : undefined })]
}

function failureIn(event: TaskEvent): { readonly agent: string; readonly message: string } | undefined {
  if (event.type !== 'journal' || event.entry.type !== 'step' || !isObject(event.entry.result)) return undefined
  const { failed } = event.entry.result
  if (!isObject(failed) || failed.taskId !== undefined) return undefined
  const { agent, message } = failed
  return typeof agent === 'string' && typeof message === 'string' ? { agent, message } : undefined
}

function isOver(phase: Phase | 'expired'): boolean {
  return phase === 'expired' || isEnded(phase)
}

function stateOf(phase: Phase | 'expired'): CallNode['state'] {
  if (phase === 'expired' || phase === 'completed' || phase === 'answered') return 'completed'
  if (isEnded(phase)) return 'failed'
  return isInterrupted(phase) ? 'waiting' : 'running'
}
