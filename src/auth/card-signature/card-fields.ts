/** What a member of a card is, as far as the canonical form has to know (A2A 1.0 §8.4.1). */
export type Kind =
  | 'text'
  | 'flag'
  | 'texts'
  /** Any JSON object, covered as it is. */
  | 'struct'
  | { readonly message: Message }
  | { readonly list: Message }
  | { readonly map: Kind }

/**
 * `required` members are always there, also if they are empty; `optional` ones whenever they are set; and `implicit`
 * ones unless they have the value that they would have anyway.
 */
export interface Field {
  readonly presence: 'required' | 'optional' | 'implicit'
  readonly kind: Kind
}

export type Message = Readonly<Record<string, Field>>

const required = (kind: Kind): Field => ({ presence: 'required', kind })
const optional = (kind: Kind): Field => ({ presence: 'optional', kind })
const implicit = (kind: Kind): Field => ({ presence: 'implicit', kind })

const requirement: Message = { schemes: implicit({ map: { message: { list: implicit('texts') } } }) }

const ofToken = { tokenUrl: required('text'), refreshUrl: implicit('text'), scopes: required({ map: 'text' }) }

const flows: Message = {
  authorizationCode: optional({
    message: { ...ofToken, authorizationUrl: required('text'), pkceRequired: implicit('flag') },
  }),
  clientCredentials: optional({ message: ofToken }),
  implicit: optional({
    message: { authorizationUrl: implicit('text'), refreshUrl: implicit('text'), scopes: implicit({ map: 'text' }) },
  }),
  password: optional({
    message: { tokenUrl: implicit('text'), refreshUrl: implicit('text'), scopes: implicit({ map: 'text' }) },
  }),
  deviceCode: optional({ message: { ...ofToken, deviceAuthorizationUrl: required('text') } }),
}

const description = implicit('text')

const scheme: Message = {
  apiKeySecurityScheme: optional({
    message: { description, location: required('text'), name: required('text') },
  }),
  httpAuthSecurityScheme: optional({
    message: { description, scheme: required('text'), bearerFormat: implicit('text') },
  }),
  oauth2SecurityScheme: optional({
    message: { description, flows: required({ message: flows }), oauth2MetadataUrl: implicit('text') },
  }),
  openIdConnectSecurityScheme: optional({ message: { description, openIdConnectUrl: required('text') } }),
  mtlsSecurityScheme: optional({ message: { description } }),
}

const extension: Message = {
  uri: implicit('text'),
  description,
  required: implicit('flag'),
  params: optional('struct'),
}

const skill: Message = {
  id: required('text'),
  name: required('text'),
  description: required('text'),
  tags: required('texts'),
  examples: implicit('texts'),
  inputModes: implicit('texts'),
  outputModes: implicit('texts'),
  securityRequirements: implicit({ list: requirement }),
}

const agentInterface: Message = {
  url: required('text'),
  protocolBinding: required('text'),
  tenant: implicit('text'),
  protocolVersion: required('text'),
}

/** All that a card of A2A 1.0 has, but its signatures. */
export const cardFields: Message = {
  name: required('text'),
  description: required('text'),
  supportedInterfaces: required({ list: agentInterface }),
  provider: optional({ message: { url: required('text'), organization: required('text') } }),
  version: required('text'),
  documentationUrl: optional('text'),
  capabilities: required({
    message: {
      streaming: optional('flag'),
      pushNotifications: optional('flag'),
      extensions: implicit({ list: extension }),
      extendedAgentCard: optional('flag'),
    },
  }),
  securitySchemes: implicit({ map: { message: scheme } }),
  securityRequirements: implicit({ list: requirement }),
  defaultInputModes: required('texts'),
  defaultOutputModes: required('texts'),
  skills: required({ list: skill }),
  iconUrl: optional('text'),
}
