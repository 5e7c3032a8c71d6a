"""Models of version 1.1.0. Made by schemas/build from the JSON Schemas: do not edit."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import ConfigDict, Field, StringConstraints

from ._values import DateTime, Envelope, Integer, No, Number, Strict, Timestamp, Yes

__all__ = [
    "AgentAnnouncementMessage",
    "AgentAnnouncementPayload",
    "AgentCard",
    "AgentId",
    "AgentInfo",
    "AuthenticatedMessage",
    "AuthenticationTag",
    "BaseMessage",
    "DateTime",
    "DiscoverAgentsMessage",
    "DiscoverAgentsPayload",
    "DiscoverFilters",
    "ErrorCode",
    "ErrorDetails",
    "ErrorMessage",
    "ErrorObject",
    "ErrorPayload",
    "ErrorResponsePayload",
    "Fingerprint",
    "GoodbyeMessage",
    "GoodbyePayload",
    "HandshakeAccepted",
    "HandshakeAckMessage",
    "HandshakeAckPayload",
    "HandshakeMessage",
    "HandshakePayload",
    "HandshakeRefused",
    "HttpUrl",
    "Message",
    "MessageId",
    "Nonce",
    "RequestMessage",
    "RequestPayload",
    "ResponseMessage",
    "ResponsePayload",
    "SemanticVersion",
    "Signature",
    "SuccessResponsePayload",
    "Timestamp",
]

MessageId = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$(?!\n)"),
]
"""A UUID of version 4 in lower case, unique per message."""

AgentId = Annotated[
    str,
    StringConstraints(min_length=3, max_length=128, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]$(?!\n)"),
]
"""The id of an agent in the mesh. "registry" is the agent that answers discovery."""

Nonce = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{32}$(?!\n)"),
]
"""Sixteen random bytes in hexadecimal, never used twice with one key."""

Signature = Annotated[
    str,
    StringConstraints(min_length=4, pattern=r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$(?!\n)"),
]
"""The signature over the canonical form (RFC 8785) of the envelope without this member, in base64."""

Fingerprint = Annotated[
    str,
    StringConstraints(pattern=r"^sha256:[0-9a-f]{16,64}$(?!\n)"),
]
"""The SHA-256 of the public key as DER SPKI, or its first digits. It selects a key and proves nothing."""


class AuthenticationTag(Strict):
    """Identifies the signer. `agent_id` equals the `sender_id` of the envelope."""

    agent_id: AgentId
    timestamp: DateTime
    nonce: Nonce
    signature: Signature
    public_key_fingerprint: Fingerprint | None = None


class BaseMessage(Envelope):
    """The members of all envelopes."""

    message_id: MessageId
    message_type: Literal["request", "response", "handshake", "handshake_ack", "error", "discover_agents", "agent_announcement", "goodbye"]
    sender_id: AgentId
    recipient_id: AgentId
    timestamp: Timestamp
    payload: dict[str, Any]
    correlation_id: MessageId | None = None
    auth: AuthenticationTag | None = None


class RequestPayload(Strict):
    """The method to call and its parameters."""

    method: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    parameters: dict[str, Any] | None = None


class RequestMessage(BaseMessage):
    """Calls a method of an agent."""

    message_type: Literal["request"]
    payload: RequestPayload
    correlation_id: None = None


class SuccessResponsePayload(Strict):
    """The request succeeded."""

    status: Literal["success"]
    data: dict[str, Any]


ErrorCode = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*[A-Z0-9]$(?!\n)"),
]
"""A machine-readable error code. The standard codes are INVALID_MESSAGE, VALIDATION_FAILED, AUTHENTICATION_FAILED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, RATE_LIMIT_EXCEEDED, PAYLOAD_TOO_LARGE, INTERNAL_ERROR, SERVICE_UNAVAILABLE and TIMEOUT; agents may define their own."""


class ErrorObject(Strict):
    """Why a request failed."""

    code: ErrorCode
    message: Annotated[str, StringConstraints(min_length=1)]
    details: dict[str, Any] | None = None



class ErrorResponsePayload(Strict):
    """The agent understood the request and rejected it."""

    status: Literal["error"]
    error: ErrorObject


ResponsePayload = Union[SuccessResponsePayload, ErrorResponsePayload]
"""The result of a request: data or an error."""

class ResponseMessage(BaseMessage):
    """Answers a request."""

    message_type: Literal["response"]
    payload: ResponsePayload
    correlation_id: MessageId

SemanticVersion = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$(?!\n)"),
]
"""Major, minor and patch version."""


class AgentCard(Strict):
    """How an agent describes itself in a handshake. This is not the A2A agent card."""

    agent_id: AgentId
    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    version: SemanticVersion
    description: Annotated[str, StringConstraints(max_length=500)]
    capabilities: Annotated[list[str], Field(min_length=1, max_length=50)]
    supported_protocols: Annotated[list[str], Field(min_length=1)]
    metadata: dict[str, Any] | None = None
    schema_versions: Annotated[list[SemanticVersion], Field(min_length=1)] | None = None



class HandshakePayload(Strict):
    """Starts a session between two agents."""

    agent_card: AgentCard


class HandshakeMessage(BaseMessage):
    """Introduces the sender."""

    message_type: Literal["handshake"]
    payload: HandshakePayload
    correlation_id: None = None


class HandshakeAccepted(Strict):
    """The answering agent, and the versions that both agents will use."""

    accepted: Yes
    agent_card: AgentCard
    selected_protocol: Annotated[str, StringConstraints(min_length=1)]
    schema_version: SemanticVersion | None = None
    reason: Annotated[str, StringConstraints(max_length=500)] | None = None



class HandshakeRefused(Strict):
    """The answering agent rejects the handshake."""

    accepted: No
    agent_card: AgentCard | None = None
    selected_protocol: Annotated[str, StringConstraints(min_length=1)] | None = None
    schema_version: SemanticVersion | None = None
    reason: Annotated[str, StringConstraints(max_length=500)] | None = None


HandshakeAckPayload = Union[HandshakeAccepted, HandshakeRefused]
"""The answer to a handshake."""

class HandshakeAckMessage(BaseMessage):
    """Answers a handshake."""

    message_type: Literal["handshake_ack"]
    payload: HandshakeAckPayload
    correlation_id: MessageId

HttpUrl = Annotated[
    str,
    StringConstraints(pattern=r"^https?://(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/(?:[A-Za-z0-9._~:/@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?(?:\?(?:[A-Za-z0-9._~:/@!$&'()*+,;=?-]|%[0-9A-Fa-f]{2})*)?(?:#(?:[A-Za-z0-9._~:/@!$&'()*+,;=?-]|%[0-9A-Fa-f]{2})*)?$(?!\n)"),
]
"""An absolute HTTP URL without credentials."""


class ErrorDetails(Strict):
    """Why a message was rejected, when to retry (in seconds), and where to read more."""

    code: ErrorCode
    message: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    details: dict[str, Any] | None = None
    retry_after: Annotated[Integer, Field(ge=0)] | None = None
    documentation_url: HttpUrl | None = None



class ErrorPayload(Strict):
    """A protocol violation, or an agent that cannot answer."""

    error: ErrorDetails


class ErrorMessage(BaseMessage):
    """Reports that a message was rejected or could not be handled."""

    message_type: Literal["error"]
    payload: ErrorPayload
    correlation_id: MessageId


class DiscoverFilters(Strict):
    """Narrows the search. Defaults to all agents, up to 100."""

    status: Literal["healthy", "unhealthy", "all"] = "all"
    max_results: Annotated[Integer, Field(ge=1, le=100)] = 100



class DiscoverAgentsPayload(Strict):
    """Searches the registry for agents with all of these capabilities."""

    capabilities: list[str] | None = None
    filters: DiscoverFilters | None = None


class DiscoverAgentsMessage(BaseMessage):
    """Searches the registry for agents."""

    message_type: Literal["discover_agents"]
    recipient_id: Literal["registry"]
    payload: DiscoverAgentsPayload
    correlation_id: None = None


class AgentInfo(Strict):
    """An agent in the registry."""

    agent_id: AgentId
    name: str
    capabilities: list[str]
    status: Literal["healthy", "unhealthy"]
    endpoint: HttpUrl
    last_heartbeat: DateTime | None = None



class AgentAnnouncementPayload(Strict):
    """The agents found. `total_count` includes agents beyond `max_results`."""

    agents: list[AgentInfo]
    total_count: Annotated[Integer, Field(ge=0)]
    query_time_ms: Annotated[Number, Field(ge=0)] | None = None


class AgentAnnouncementMessage(BaseMessage):
    """Answers discovery."""

    message_type: Literal["agent_announcement"]
    sender_id: Literal["registry"]
    payload: AgentAnnouncementPayload
    correlation_id: MessageId


class GoodbyePayload(Strict):
    """The sender disconnects, and may return after a number of seconds."""

    reason: Annotated[str, StringConstraints(max_length=500)] | None = None
    reconnect_after: Annotated[Integer, Field(ge=0)] | None = None


class GoodbyeMessage(BaseMessage):
    """Ends a session."""

    message_type: Literal["goodbye"]
    payload: GoodbyePayload
    correlation_id: None = None

class AuthenticatedMessage(BaseMessage):
    """A signed envelope."""

    auth: AuthenticationTag

Message = Annotated[Union[RequestMessage, ResponseMessage, HandshakeMessage, HandshakeAckMessage, ErrorMessage, DiscoverAgentsMessage, AgentAnnouncementMessage, GoodbyeMessage], Field(discriminator="message_type")]
"""Any envelope of this version, discriminated by its type."""
