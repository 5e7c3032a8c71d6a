import type { JsonObject } from '../../protocol/model.ts'
import { object, optional } from '../object-shape.ts'
import { boolean, list, map, readObject, type Shape, string, struct, type TypeOf } from '../shape.ts'
import { tagged, word } from '../tagged-shape.ts'

const text = optional(string())
const texts = list(string())

const flowFields = { refreshUrl: text, scopes: map(string()) }

const OAuthFlows = object({
  authorizationCode: optional(object({ authorizationUrl: string(), tokenUrl: string(), ...flowFields })),
  clientCredentials: optional(object({ tokenUrl: string(), ...flowFields })),
  implicit: optional(object({ authorizationUrl: string(), ...flowFields })),
  password: optional(object({ tokenUrl: string(), ...flowFields })),
})

const schemes = {
  apiKey: object({ name: string(), in: word('cookie', 'header', 'query'), description: text }),
  http: object({ scheme: string(), bearerFormat: text, description: text }),
  oauth2: object({ flows: OAuthFlows, oauth2MetadataUrl: text, description: text }),
  openIdConnect: object({ openIdConnectUrl: string(), description: text }),
  mutualTLS: object({ description: text }),
}
const KnownScheme = tagged('type', schemes)

/** A scheme of a type or with flows that we do not know is no reason to refuse the card: it is only of no use. */
export const SecurityScheme: Shape<TypeOf<typeof KnownScheme> | { readonly unusable: JsonObject }> = {
  read(value) {
    const source = readObject(value)
    if (typeof source.type !== 'string' || !Object.hasOwn(schemes, source.type)) return { unusable: source }
    const scheme = KnownScheme.read(source)
    return 'oauth2' in scheme && Object.keys(scheme.oauth2.flows).length === 0 ? { unusable: source } : scheme
  },
  form: KnownScheme.form,
}

const requirements = optional(list(map(texts)))

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

const Skill = object({
  id: string(),
  name: string(),
  description: string(),
  tags: texts,
  examples: optional(texts),
  inputModes: optional(texts),
  outputModes: optional(texts),
  security: requirements,
})

export const AgentCard = object({
  ...addressFields,
  name: string(),
  description: string(),
  version: string(),
  capabilities: Capabilities,
  defaultInputModes: texts,
  defaultOutputModes: texts,
  skills: list(Skill),
  provider: optional(object({ organization: string(), url: string() })),
  documentationUrl: text,
  iconUrl: text,
  securitySchemes: optional(map(SecurityScheme)),
  security: requirements,
  supportsAuthenticatedExtendedCard: optional(boolean()),
  signatures: optional(list(object({ protected: string(), signature: string(), header: optional(struct()) }))),
})
