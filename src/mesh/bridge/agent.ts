import { type Agent, type AgentProfile, agent } from '../../core/agent/agent.ts'
import type { FirstMessage } from '../../core/agent/run-skill.ts'
import { defined, isObject, type JsonObject } from '../../core/base/json.ts'
import { aFunction, anObject, checkOptions, type OptionChecks, oneOf, recordOf, text } from '../../core/base/options.ts'
import { A2AError, invalidParams } from '../../core/protocol/errors.ts'
import { requestedSkill } from '../../core/protocol/extensions/typed-skills.ts'
import { textOf } from '../../core/protocol/model.ts'
import { callPeer, type LinkSource, linkCheck, linkFor } from './service.ts'

/** A method call to a peer. */
export interface MeshMethodCall {
  readonly method: string
  readonly parameters: JsonObject
}

/** Options of `meshAgent`. */
export interface MeshAgentOptions {
  readonly link: LinkSource
  /** Describes the agent in its card. Its skill ids are the methods of the peer. */
  readonly profile: AgentProfile
  /** The methods of skills whose method name differs from the skill id. */
  readonly methods?: Readonly<Record<string, string>>
  /**
   * Maps a message to a method call. Defaults to the method of its skill, with its data or `{ text }` as parameters.
   */
  readonly askOf?: (message: FirstMessage) => MeshMethodCall
  /** Whether an answer becomes a message or an artifact of a task. Defaults to `message`. */
  readonly answerAs?: 'message' | 'artifact'
}

const optionChecks: OptionChecks<MeshAgentOptions> = {
  link: linkCheck,
  profile: anObject,
  methods: recordOf(text),
  askOf: aFunction,
  answerAs: oneOf('message', 'artifact'),
}

/**
 * Wraps a mesh peer as an A2A agent that is served like any other: the runtime handles tasks, owners and limits. If the
 * peer rejects a request, the task fails with the reason as data.
 */
export function meshAgent(options: MeshAgentOptions): Agent {
  checkOptions('meshAgent', options, optionChecks, ['link', 'profile'])
  const { link, profile, answerAs = 'message', askOf = callOfSkill(options) } = options
  const { skills = [], name } = profile
  if (skills.length === 0 && !options.askOf) {
    throw new TypeError(
      `meshAgent(${name}): expected skills in the profile, or askOf: otherwise no method can be called.`,
    )
  }
  const wrapped = agent(profile, async (turn) => {
    const { method, parameters } = askOf(turn)
    try {
      const { signal, trace } = turn
      const data = await callPeer(linkFor(link, turn.principal), method, { parameters, signal, trace })
      if (answerAs === 'message') return { data, mediaType: 'application/json' }
      return void (await turn.data(data, method))
    } catch (error) {
      if (turn.signal.aborted || !(error instanceof A2AError)) throw error
      const { code, message, reason = code, retryAfter } = error
      turn.log.warn({ code, reason, method }, 'a mesh peer rejected or failed a request')
      const details = defined({ reason, code, retryAfter })
      return void (await turn.fail([{ text: message }, { data: details, mediaType: 'application/json' }]))
    }
  })
  // Checked before the message is stored, so that an unknown skill is an error and not a failed task.
  return { ...wrapped, check: async (message) => void askOf(message) }
}

function callOfSkill({ profile, methods = {} }: MeshAgentOptions): (message: FirstMessage) => MeshMethodCall {
  const ids = (profile.skills ?? []).map(({ id }) => id)
  return (message) => {
    const skillId = requestedSkill(message) ?? (ids.length === 1 ? ids[0] : undefined)
    if (skillId === undefined || !ids.includes(skillId)) {
      const actual = skillId === undefined ? 'none' : JSON.stringify(skillId).slice(0, 100)
      throw invalidParams('message.metadata.skillId', `expected one of the skills ${ids.join(', ')}, got ${actual}`)
    }
    const method = Object.hasOwn(methods, skillId) ? methods[skillId] : undefined
    return { method: method ?? skillId, parameters: parametersOf(message) }
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
