import type { MeshBaseMessage, MeshRequestMessage, MeshResponseMessage } from './types.ts'

/** The types of the messages under short names. None of them is a type of the A2A protocol, whatever its name. */
export type {
  MeshAgentAnnouncementMessage as AgentAnnouncementMessage,
  MeshAgentAnnouncementPayload as AgentAnnouncementPayload,
  MeshAgentCard as AgentCard,
  MeshAgentInfo as AgentInfo,
  MeshAuthenticatedMessage as AuthenticatedMessage,
  MeshAuthenticationTag as AuthenticationTag,
  MeshBaseMessage as BaseMessage,
  MeshDiscoverAgentsMessage as DiscoverAgentsMessage,
  MeshDiscoverAgentsPayload as DiscoverAgentsPayload,
  MeshDiscoverFilters as DiscoverFilters,
  MeshErrorDetails as ErrorDetails,
  MeshErrorMessage as ErrorMessage,
  MeshErrorObject as ErrorObject,
  MeshErrorResponsePayload as ErrorPayload,
  MeshGoodbyeMessage as GoodbyeMessage,
  MeshGoodbyePayload as GoodbyePayload,
  MeshHandshakeAckMessage as HandshakeAckMessage,
  MeshHandshakeAckPayload as HandshakeAckPayload,
  MeshHandshakeMessage as HandshakeMessage,
  MeshHandshakePayload as HandshakePayload,
  MeshRequestMessage as RequestMessage,
  MeshRequestPayload as RequestPayload,
  MeshResponseMessage as ResponseMessage,
  MeshResponsePayload as ResponsePayload,
  MeshSuccessResponsePayload as SuccessPayload,
} from './types.ts'

export type MessageType = MeshBaseMessage['message_type']

/** The standard error codes. `code` in messages is a string, because agents may define their own codes. */
export type ErrorCode =
  | 'INVALID_MESSAGE'
  | 'VALIDATION_FAILED'
  | 'AUTHENTICATION_FAILED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'RATE_LIMIT_EXCEEDED'
  | 'PAYLOAD_TOO_LARGE'
  | 'INTERNAL_ERROR'
  | 'SERVICE_UNAVAILABLE'
  | 'TIMEOUT'

/** A request narrowed to one method of an agent: its payload has the parameters of that method. */
export interface GetPriceRequest extends MeshRequestMessage {
  readonly payload: {
    readonly method: 'get_price'
    readonly parameters: { readonly currency: 'BTC' | 'ETH' | 'XRP' }
  }
}

export interface UploadReportRequest extends MeshRequestMessage {
  readonly payload: {
    readonly method: 'upload_report'
    /** `content` is in base64. */
    readonly parameters: { readonly filename: string; readonly content: string; readonly content_type: string }
  }
}

/** A response narrowed to the result of one method. */
export interface PriceResponse extends MeshResponseMessage {
  readonly payload: {
    readonly status: 'success'
    readonly data: { readonly currency: string; readonly price_usd: number; readonly timestamp: string }
  }
}
