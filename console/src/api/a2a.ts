import { type Client, connect } from 'parley-a2a/client'
import { agents } from './agents.ts'
import { watchedFetch } from './connection.ts'
import { credentialsNeeded } from './connections.ts'

const clients = new Map<string, Promise<Client>>()

/** The A2A client of an agent of this server, called as the person who is logged in. */
export function agentClient(id: string): Promise<Client> {
  const cached = clients.get(id)
  if (cached) return cached
  const created = open(id)
  clients.set(id, created)
  // A failed connection is tried again by the next call.
  created.catch(() => clients.delete(id))
  return created
}

async function open(id: string): Promise<Client> {
  const agent = agents.value.find((candidate) => candidate.id === id)
  if (!agent) throw new Error('This agent is no longer served.')
  return await connect(new URL(agent.a2a, location.origin).href, {
    fetch: agent.foreign ? (url, init) => askingFetch(id, url, init) : watchedFetch,
    // A person who watches a stream waits for a restart of the server.
    resume: { tries: 60, minDelay: 250, maxDelay: 5_000 },
  })
}

/** Asks for the credentials of an agent of another server when it refuses a call. */
async function askingFetch(id: string, url: string, init: RequestInit): Promise<Response> {
  const response = await watchedFetch(url, init)
  if (response.status === 401) credentialsNeeded.value = id
  return response
}
