/** The names of the first mesh specification, without a prefix because this entry exports nothing else. */
export type {
  MeshAgentAnnouncementMessage as AgentAnnouncementMessage,
  MeshAgentCard as AgentCard,
  MeshAgentInfo as AgentInfo,
  MeshAuthenticatedMessage as AuthenticatedMessage,
  MeshAuthenticationTag as AuthenticationTag,
  MeshBaseMessage as BaseMessage,
  MeshDiscoverAgentsMessage as DiscoverAgentsMessage,
  MeshErrorCode as ErrorCode,
  MeshErrorMessage as ErrorMessage,
  MeshErrorResponsePayload as ErrorPayload,
  MeshGoodbyeMessage as GoodbyeMessage,
  MeshHandshakeAckMessage as HandshakeAckMessage,
  MeshHandshakeMessage as HandshakeMessage,
  MeshRequestMessage as RequestMessage,
  MeshResponseMessage as ResponseMessage,
  MeshSuccessResponsePayload as SuccessPayload,
} from './types.ts'

import type { MeshBaseMessage, MeshRequestMessage, MeshResponseMessage } from './types.ts'

export type MessageType = MeshBaseMessage['message_type']

/** How an agent narrows a request to one of its methods. */
export interface GetPriceRequest extends MeshRequestMessage {
  readonly payload: {
    readonly method: 'get_price'
    readonly parameters: { readonly symbol: string; readonly currency?: string }
  }
}

export interface UploadReportRequest extends MeshRequestMessage {
  readonly payload: {
    readonly method: 'upload_report'
    readonly parameters: { readonly title: string; readonly content: string }
  }
}

export interface PriceResponse extends MeshResponseMessage {
  readonly payload: {
    readonly status: 'success'
    readonly data: { readonly symbol: string; readonly price: number; readonly currency: string }
  }
}
