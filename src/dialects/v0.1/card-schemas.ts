import { implicit, object, optional } from '../object-shape.ts'
import { boolean, list, string } from '../shape.ts'
import { unread } from '../unread.ts'

const text = optional(string())
const someText = implicit(string())
const texts = optional(list(string()))

export const Authentication = object({ schemes: list(string()), credentials: text })

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  stateTransitionHistory: optional(boolean()),
})

const AgentSkill = object({
  id: string(),
  name: string(),
  description: someText,
  tags: implicit(list(string())),
  examples: texts,
  inputModes: texts,
  outputModes: texts,
})

const cardFields = {
  name: string(),
  description: someText,
  url: string({ min: 1 }),
  provider: optional(object({ organization: string(), url: someText })),
  version: string(),
  documentationUrl: text,
  capabilities: Capabilities,
  defaultInputModes: texts,
  defaultOutputModes: texts,
  skills: list(AgentSkill),
}

export const AgentCard = object({ ...cardFields, authentication: optional(Authentication) })

/** A card that does not say who may call. */
export const OpenCard = object({ ...cardFields, authentication: optional(unread()) })
