import { signal } from '@preact/signals'
import type { ConnectAnswer, ConnectRequest } from 'parley-a2a/operator'
import { loadAgents } from './agents.ts'
import { operator } from './operator.ts'

/** The id of an agent of another server that has refused a call for lack of credentials. */
export const credentialsNeeded = signal<string | undefined>(undefined)

/** Connects to an agent of another server. If the person has to agree at a login page first, the browser goes there. */
export async function connectTo(request: ConnectRequest): Promise<ConnectAnswer> {
  const answer = await operator.connect(request)
  if (answer.type === 'connected') await loadAgents()
  else location.assign(answer.url)
  return answer
}

export async function disconnect(agent: string): Promise<void> {
  await operator.disconnect(agent)
  await loadAgents()
}
