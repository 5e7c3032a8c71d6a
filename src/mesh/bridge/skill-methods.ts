import { isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { outputOf } from '../../core/client/call-skill.ts'
import { plainForm, resultForReader } from '../../core/dialects/reader-form.ts'
import { v1_0 } from '../../core/dialects/v1.0/server.ts'
import type { AgentCard } from '../../core/protocol/card.ts'
import { readSkillSchemas, type SkillSchemas } from '../../core/protocol/extensions/typed-skills.ts'
import { type Part, type TaskState, textOf } from '../../core/protocol/model.ts'
import { toReply } from '../../core/protocol/reply.ts'
import type { Call, Outcome, SendRequest, Service } from '../../core/protocol/service.ts'
import { MeshRefusal } from '../errors.ts'
import type { MeshCall, MeshMethod } from '../options.ts'

/** Limit of the mesh schemas for method names. */
const maxNameLength = 128

export interface SkillMethodsOptions {
  readonly card: Pick<AgentCard, 'skills' | 'capabilities'>
  readonly service: Pick<Service, 'sendMessage'>
  readonly callOf: (call: MeshCall) => Promise<Call>
}

/** Exposes skills as methods: parameters are the input, data is the output. An unfinished task is a refusal. */
export function skillMethods({ card, service, callOf }: SkillMethodsOptions): Readonly<Record<string, MeshMethod>> {
  const schemas = readSkillSchemas(card)

  const methodOf =
    (id: string): MeshMethod =>
    async (parameters, call) => {
      const message = {
        messageId: call.envelope.message_id,
        role: 'user',
        parts: [partOf(parameters, schemas.get(id))],
        metadata: { skillId: id },
      } as const
      const request = { message, dialect: v1_0.name }
      const outcome = await service.sendMessage(request, await callOf(call))
      requireCompleted(id, outcome, request)
      return toData(outputOf(await toReply(outcome), id))
    }

  const ids = card.skills.map(({ id }) => id).filter((id) => id !== '' && id.length <= maxNameLength)
  return Object.fromEntries(ids.map((id) => [id, methodOf(id)]))
}

/** Parameters are always an object. A skill with another input type gets the `text` or `data` in it. */
function partOf(parameters: JsonObject, schemas: SkillSchemas | undefined): Part {
  const input = schemas?.input
  const takesObject = input !== undefined && (input.type === undefined || input.type === 'object')
  const [only, ...others] = Object.keys(parameters)
  if (!takesObject && others.length === 0) {
    if (only === 'text' && typeof parameters.text === 'string') return { text: parameters.text }
    if (only === 'data') return { data: parameters.data ?? null, mediaType: 'application/json' }
  }
  return { data: parameters, mediaType: 'application/json' }
}

function requireCompleted(id: string, outcome: Outcome, request: SendRequest): void {
  if (outcome.type === 'message' || outcome.task.status.state === 'completed') return
  const { state, message } = outcome.task.status
  const reason = message && textOf(message)
  const text = `The task of ${id} is ${state}${reason ? `: ${reason}` : '.'}`
  // The same `{ task }` as the result of a send.
  const details = v1_0.encodeResult.sendMessage(resultForReader('sendMessage', outcome, plainForm), request)
  throw new MeshRefusal(refusalCodes[state], text, details as JsonObject)
}

/** The refusal codes of tasks that are not completed. The refusal has the task in `details.task`. */
const refusalCodes: Readonly<Record<Exclude<TaskState, 'completed'>, string>> = {
  submitted: 'TASK_UNFINISHED',
  working: 'TASK_UNFINISHED',
  'input-required': 'TASK_UNFINISHED',
  'auth-required': 'TASK_UNFINISHED',
  failed: 'TASK_FAILED',
  canceled: 'TASK_CANCELED',
  rejected: 'TASK_REJECTED',
  unknown: 'TASK_FAILED',
}

function toData(output: unknown): JsonObject {
  if (typeof output === 'string') return { text: output }
  return isObject(output) ? output : { data: output as Json }
}
