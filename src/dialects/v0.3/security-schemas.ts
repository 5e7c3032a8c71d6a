import type { JsonObject } from '../../protocol/model.ts'
import { object, optional } from '../object-shape.ts'
import { list, map, readObject, type Shape, string, type TypeOf } from '../shape.ts'
import { tagged, word } from '../tagged-shape.ts'
import { cardFields, skillFields } from './card-schemas.ts'

const text = optional(string())

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

const requirements = optional(list(map(list(string()))))

export const AgentCard = object({
  ...cardFields,
  skills: list(object({ ...skillFields, security: requirements })),
  securitySchemes: optional(map(SecurityScheme)),
  security: requirements,
})
