import { type Agent, type AgentProfile, agent } from '../agent/agent.ts'
import type { FirstMessage } from '../agent/run-skill.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import { requestedSkill } from '../protocol/extensions/typed-skills.ts'
import { textOf } from '../protocol/model.ts'
import { type LinkOf, linkFor, requested } from './service.ts'

/** What a peer is asked. */
export interface MeshAsk {
  readonly method: string
  readonly parameters: JsonObject
}

export interface MeshAgentOptions {
  readonly link: LinkOf
  /** What its card says. The peer's methods are its skills, by their ids. */
  readonly profile: AgentProfile
  /** The methods of skills that are called otherwise than the skills. */
  readonly methods?: Readonly<Record<string, string>>
  /** What a message asks of the peer, if not the method of its skill, with its data, or its `{ text }`. */
  readonly askOf?: (opening: FirstMessage) => MeshAsk
  /** Whether an answer is a message, or an artifact of a task. */
  readonly answerAs?: 'message' | 'artifact'
}

/**
 * A peer of the mesh as an agent of A2A, to be served like any other: its tasks, their owners, limits and ends are the
 * runtime's. What the peer refuses ends the task as failed, with the reason as data.
 */
export function meshAgent(options: MeshAgentOptions): Agent {
  const { link, profile, answerAs = 'message', askOf = askBySkill(options) } = options
  const { skills = [], name } = profile
  if (skills.length === 0 && !options.askOf) {
    throw new TypeError(`meshAgent(${name}): expected skills in the profile, or askOf: otherwise nothing can be asked.`)
  }
  const served = agent(profile, async (turn) => {
    const { method, parameters } = askOf(turn)
    try {
      const { signal, trace } = turn
      const data = await requested(linkFor(link, turn.principal), method, { parameters, signal, trace })
      if (answerAs === 'message') return { data, mediaType: 'application/json' }
      return void (await turn.data(data, method))
    } catch (error) {
      if (turn.signal.aborted || !(error instanceof A2AError)) throw error
      turn.log.warn({ error, method }, 'a peer of the mesh did not do what it was asked')
      const { code, message, reason = code, retryAfter } = error
      const why = { reason, code, ...(retryAfter !== undefined && { retryAfter }) }
      return void (await turn.fail([{ text: message }, { data: why, mediaType: 'application/json' }]))
    }
  })
  // Before anything is stored, so that it is an error and no task.
  return { ...served, check: async (opening) => void askOf(opening) }
}

function askBySkill({ profile, methods = {} }: MeshAgentOptions): (opening: FirstMessage) => MeshAsk {
  const ids = (profile.skills ?? []).map(({ id }) => id)
  return (opening) => {
    const named = requestedSkill(opening) ?? (ids.length === 1 ? ids[0] : undefined)
    if (named === undefined || !ids.includes(named)) {
      const came = named === undefined ? 'none' : JSON.stringify(named).slice(0, 100)
      throw invalidParams('message.metadata.skillId', `expected one of the skills ${ids.join(', ')}, got ${came}`)
    }
    const method = Object.hasOwn(methods, named) ? methods[named] : undefined
    return { method: method ?? named, parameters: parametersOf(opening) }
  }
}

function parametersOf({ message }: FirstMessage): JsonObject {
  for (const part of message.parts) {
    if (!('data' in part)) continue
    const { data } = part
    return isObject(data) ? data : { data }
  }
  return { text: textOf(message) }
}
