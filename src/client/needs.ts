import type { StreamEvent } from '../protocol/events.ts'
import type { TaskStatus } from '../protocol/model.ts'
import type { AuthRequired } from './auth-required.ts'

/** An event of a task, with what is needed where it cannot go on without credentials. */
export type ClientEvent = StreamEvent & { readonly authRequired?: AuthRequired }

export async function withNeeds(event: StreamEvent): Promise<ClientEvent> {
  if (event.type === 'message' || event.type === 'artifact') return event
  return { ...event, ...(await needsOf(event.type === 'task' ? event.task.status : event.status)) }
}

/** How to read them is loaded with the first. */
export async function needsOf(status: TaskStatus): Promise<{ readonly authRequired?: AuthRequired }> {
  if (status.state !== 'auth-required') return {}
  const { needsIn } = await import('./auth-required.ts')
  return { authRequired: needsIn(status) }
}
