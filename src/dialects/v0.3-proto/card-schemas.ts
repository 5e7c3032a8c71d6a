import { assumed } from '../assumed.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { cardFields, extensions, skillFields } from '../proto-card.ts'
import { boolean, list, string } from '../shape.ts'
import { unread } from '../unread.ts'

const text = implicit(string())
const flag = implicit(boolean())

const addressFields = {
  url: string({ min: 1 }),
  preferredTransport: text,
  additionalInterfaces: implicit(list(object({ url: string({ min: 1 }), transport: string({ min: 1 }) }))),
  protocolVersion: text,
}

/** The members of a card that say where the agent can be reached. */
export const Addresses = object(addressFields)

const Capabilities = object({ streaming: flag, pushNotifications: flag, extensions })

export const openCardFields = {
  ...addressFields,
  ...cardFields,
  capabilities: assumed(Capabilities, {}),
  documentationUrl: text,
  // Came after 0.3.0; the SDKs of 0.3 have it.
  iconUrl: text,
  supportsAuthenticatedExtendedCard: flag,
}

const security = implicit(unread())

/** A card that does not say who may call. */
export const OpenCard = object({
  ...openCardFields,
  skills: assumed(list(object({ ...skillFields, security })), []),
  securitySchemes: optional(unread()),
  security,
})
