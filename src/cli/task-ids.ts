import { A2AError } from '../core/protocol/errors.ts'
import { anonymous } from '../core/protocol/model.ts'
import type { AgentConnection } from './agent.ts'
import { usageError } from './errors.ts'

/** Ids at least as long as this are complete. */
const minComplete = 24

/** The length of the shortest short id. */
const minShort = 6

/** Tasks that an agent lists to resolve a short id. */
const maxListed = 100

/**
 * The task that a user means by an id or a short one, which is its end or its start. The command line remembers no tasks
 * (CONFIG_001), so the agent lists them.
 */
export async function resolveTaskId(text: string, { client, call }: AgentConnection): Promise<string> {
  // Ids of other agents may be shorter than ours ever are: only what looks like a short id is worth a request.
  if (isComplete(text) || text.length < minShort) return text
  try {
    const { tasks } = await client.service.listTasks({ pageSize: maxListed }, { principal: anonymous, ...call })
    return matchTaskId(
      text,
      tasks.map(({ id }) => id),
    )
  } catch (error) {
    call.signal.throwIfAborted()
    // Agents without a list take complete ids only.
    if (error instanceof A2AError) return text
    throw error
  }
}

/** Whether an id is too long to be a short one. */
export function isComplete(text: string): boolean {
  return text.length >= minComplete
}

/** The only id that a short one fits, the text itself if there is none, or an error that lists the matches. */
export function matchTaskId(text: string, ids: readonly string[]): string {
  if (ids.includes(text) || text.length < minShort) return text
  const found = [...new Set(ids)].filter((id) => id.endsWith(text) || id.startsWith(text))
  if (found.length <= 1) return found[0] ?? text
  const some = found.slice(0, 5).join(', ')
  throw usageError(`${found.length} tasks have the short id ${text}: ${some}.`, 'Write more of it.')
}

/** The shortest end that no other of these ids has. Ids of Parley begin with their time, which many share. */
export function shortIdOf(id: string, others: readonly string[]): string {
  for (let length = minShort; length < Math.min(id.length, minComplete); length += 1) {
    const end = id.slice(-length)
    if (/^\w/.test(end) && !others.some((other) => other !== id && other.endsWith(end))) return end
  }
  return id
}
