import { object, optional } from '../object-shape.ts'
import { boolean, list, string, struct } from '../shape.ts'
import { unread } from '../unread.ts'

const text = optional(string())
const texts = list(string())

const addressFields = {
  url: string(),
  preferredTransport: text,
  additionalInterfaces: optional(list(object({ url: string(), transport: string() }))),
  // Only since 0.2.5.
  protocolVersion: text,
}

/** The members of a card that say where the agent can be reached. */
export const Addresses = object(addressFields)

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  stateTransitionHistory: optional(boolean()),
  extensions: optional(
    list(object({ uri: string(), description: text, required: optional(boolean()), params: optional(struct()) })),
  ),
})

export const skillFields = {
  id: string(),
  name: string(),
  description: string(),
  tags: texts,
  examples: optional(texts),
  inputModes: optional(texts),
  outputModes: optional(texts),
}

export const cardFields = {
  ...addressFields,
  name: string(),
  description: string(),
  version: string(),
  capabilities: Capabilities,
  defaultInputModes: texts,
  defaultOutputModes: texts,
  provider: optional(object({ organization: string(), url: string() })),
  documentationUrl: text,
  iconUrl: text,
  supportsAuthenticatedExtendedCard: optional(boolean()),
  signatures: optional(list(object({ protected: string(), signature: string(), header: optional(struct()) }))),
}

const security = optional(unread())

/** A card that does not say who may call. */
export const OpenCard = object({
  ...cardFields,
  skills: list(object({ ...skillFields, security })),
  securitySchemes: security,
  security,
})
