import { base, type Schema } from './base.ts'

/**
 * The objects of A2A 1.0 (`lf.a2a.v1`) in ProtoJSON. A member is its name, `!` if it is required, and its type after a
 * colon unless it is a string; `[]` makes a list and `{}` a map. Exactly one of the members after `one of` is present.
 */
const objects: Readonly<Record<string, string>> = {
  SendMessageConfiguration:
    'acceptedOutputModes:string[] taskPushNotificationConfig:TaskPushNotificationConfig historyLength:int32 returnImmediately:bool',
  Task: 'id! contextId status!:TaskStatus artifacts:Artifact[] history:Message[] metadata:Struct',
  TaskStatus: 'state!:TaskState message:Message timestamp:Timestamp',
  Part: 'metadata:Struct filename mediaType one of text raw:bytes url data:Value',
  Message:
    'messageId! contextId taskId role!:Role parts!:Part[] metadata:Struct extensions:string[] referenceTaskIds:string[]',
  Artifact: 'artifactId! name description parts!:Part[] metadata:Struct extensions:string[]',
  TaskStatusUpdateEvent: 'taskId! contextId! status!:TaskStatus metadata:Struct',
  TaskArtifactUpdateEvent: 'taskId! contextId! artifact!:Artifact append:bool lastChunk:bool metadata:Struct',
  AuthenticationInfo: 'scheme! credentials',
  AgentInterface: 'url! protocolBinding! tenant protocolVersion!',
  AgentCard:
    'name! description! supportedInterfaces!:AgentInterface[] provider:AgentProvider version! documentationUrl capabilities!:AgentCapabilities securitySchemes:SecurityScheme{} securityRequirements:SecurityRequirement[] defaultInputModes!:string[] defaultOutputModes!:string[] skills!:AgentSkill[] signatures:AgentCardSignature[] iconUrl',
  AgentProvider: 'url! organization!',
  AgentCapabilities: 'streaming:bool pushNotifications:bool extensions:AgentExtension[] extendedAgentCard:bool',
  AgentExtension: 'uri description required:bool params:Struct',
  AgentSkill:
    'id! name! description! tags!:string[] examples:string[] inputModes:string[] outputModes:string[] securityRequirements:SecurityRequirement[]',
  AgentCardSignature: 'protected! signature! header:Struct',
  TaskPushNotificationConfig: 'tenant id taskId url! token authentication:AuthenticationInfo',
  StringList: 'list:string[]',
  SecurityRequirement: 'schemes:StringList{}',
  SecurityScheme:
    'one of apiKeySecurityScheme:APIKeySecurityScheme httpAuthSecurityScheme:HTTPAuthSecurityScheme oauth2SecurityScheme:OAuth2SecurityScheme openIdConnectSecurityScheme:OpenIdConnectSecurityScheme mtlsSecurityScheme:MutualTlsSecurityScheme',
  APIKeySecurityScheme: 'description location! name!',
  HTTPAuthSecurityScheme: 'description scheme! bearerFormat',
  OAuth2SecurityScheme: 'description flows!:OAuthFlows oauth2MetadataUrl',
  OpenIdConnectSecurityScheme: 'description openIdConnectUrl!',
  MutualTlsSecurityScheme: 'description',
  OAuthFlows:
    'one of authorizationCode:AuthorizationCodeOAuthFlow clientCredentials:ClientCredentialsOAuthFlow implicit:ImplicitOAuthFlow password:PasswordOAuthFlow deviceCode:DeviceCodeOAuthFlow',
  AuthorizationCodeOAuthFlow: 'authorizationUrl! tokenUrl! refreshUrl scopes!:string{} pkceRequired:bool',
  ClientCredentialsOAuthFlow: 'tokenUrl! refreshUrl scopes!:string{}',
  ImplicitOAuthFlow: 'authorizationUrl refreshUrl scopes:string{}',
  PasswordOAuthFlow: 'tokenUrl refreshUrl scopes:string{}',
  DeviceCodeOAuthFlow: 'deviceAuthorizationUrl! tokenUrl! refreshUrl scopes!:string{}',
  SendMessageRequest: 'tenant message!:Message configuration:SendMessageConfiguration metadata:Struct',
  GetTaskRequest: 'tenant id! historyLength:int32',
  ListTasksRequest:
    'tenant contextId status:TaskState pageSize:int32 pageToken historyLength:int32 statusTimestampAfter:Timestamp includeArtifacts:bool',
  ListTasksResponse: 'tasks!:Task[] nextPageToken! pageSize!:int32 totalSize!:int32',
  CancelTaskRequest: 'tenant id! metadata:Struct',
  GetTaskPushNotificationConfigRequest: 'tenant taskId! id!',
  DeleteTaskPushNotificationConfigRequest: 'tenant taskId! id!',
  SubscribeToTaskRequest: 'tenant id!',
  ListTaskPushNotificationConfigsRequest: 'taskId! pageSize:int32 pageToken tenant',
  GetExtendedAgentCardRequest: 'tenant',
  SendMessageResponse: 'one of task:Task message:Message',
  StreamResponse:
    'one of task:Task message:Message statusUpdate:TaskStatusUpdateEvent artifactUpdate:TaskArtifactUpdateEvent',
  ListTaskPushNotificationConfigsResponse: 'configs:TaskPushNotificationConfig[] nextPageToken',
}

const states = 'SUBMITTED WORKING COMPLETED FAILED CANCELED INPUT_REQUIRED REJECTED AUTH_REQUIRED'.split(' ')

const scalars: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  bytes: { type: 'string', pattern: '^[A-Za-z0-9+/_-]*={0,2}$(?!\\n)', contentEncoding: 'base64' },
  Timestamp: {
    type: 'string',
    pattern:
      '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})$(?!\\n)',
    format: 'date-time',
  },
  Struct: { type: 'object' },
  Value: {},
  TaskState: { type: 'string', enum: ['UNSPECIFIED', ...states].map((state) => `TASK_STATE_${state}`) },
  Role: { type: 'string', enum: ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] },
}

/** One file with all objects as definitions: `…/a2a.json#/definitions/Task`. */
export function a2aSchemas(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: `${base}/a2a/v1.0/a2a.json`,
    $comment: `Version 1.0, made by schemas/build. Changes: ${base}/CHANGELOG.md`,
    deprecated: false,
    title: 'A2A 1.0',
    description: 'The objects of A2A 1.0 in JSON. Refer to one by its definition.',
    definitions: Object.fromEntries(Object.entries(objects).map(([name, text]) => [name, toObject(name, text)])),
  }
}

function toObject(title: string, text: string): Schema {
  const [fields = '', choice = ''] = text.startsWith('one of ') ? ['', text.slice(7)] : text.split(' one of ')
  const members = fields.split(' ').filter(Boolean).map(toMember)
  const choices = choice.split(' ').filter(Boolean).map(toMember)
  const required = members.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return {
    title,
    type: 'object',
    properties: Object.fromEntries([...members, ...choices].map(({ name, schema }) => [name, schema])),
    ...(required.length > 0 && { required }),
    // The strict mode of AJV requires each branch to list the members that it requires.
    ...(choices.length > 0 && {
      oneOf: choices.map(({ name }) => ({ type: 'object', properties: { [name]: true }, required: [name] })),
    }),
  }
}

function toMember(text: string): { readonly name: string; readonly isRequired: boolean; readonly schema: Schema } {
  const [left = '', type = 'string'] = text.split(':')
  return { name: left.replace('!', ''), isRequired: left.endsWith('!'), schema: toType(type) }
}

function toType(type: string): Schema {
  if (type.endsWith('[]')) return { type: 'array', items: toType(type.slice(0, -2)) }
  if (type.endsWith('{}')) return { type: 'object', additionalProperties: toType(type.slice(0, -2)) }
  return scalars[type] ?? { $ref: `#/definitions/${type}` }
}
