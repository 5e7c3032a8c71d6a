"""Models of version 1.0.0. Made by schemas/build from the JSON Schemas: do not edit."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import ConfigDict, Field

from ._values import DateTime, Envelope, Integer, MessageId, No, Nonce, Number, Strict, Text, Timestamp, Yes

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
    "HandshakeMessage",
    "HandshakePayload",
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

AgentId = Annotated[
    str,
    Text(r"^[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]$(?!\n)", min_length=3, max_length=128),
]
"""The id of an agent in the mesh. "registry" is the agent that answers discovery."""

Signature = Annotated[
    str,
    Text(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$(?!\n)", min_length=4),
]
"""The signature over the canonical form (RFC 8785) of the envelope without this member, in base64."""

Fingerprint = Annotated[
    str,
    Text(r"^sha256:[0-9a-f]{16,64}$(?!\n)"),
]
"""The SHA-256 of the public key as DER SPKI, or its first digits. It selects a key and proves nothing."""


class AuthenticationTag(Strict):
    """Identifies the signer. `agent_id` equals the `sender_id` of the envelope."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "nonce": "9f86d081884c7d659a2feaa0c55ad015", "signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==", "public_key_fingerprint": "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}]})

    agent_id: AgentId = Field(description="The agent that signed. It equals the `sender_id` of the message.", examples=["shop-agent"])
    timestamp: DateTime = Field(description="When the agent signed.", examples=["2026-01-31T12:00:00.000Z"])
    nonce: Nonce = Field(description="A random value against replay.", examples=["9f86d081884c7d659a2feaa0c55ad015"])
    signature: Signature = Field(description="The signature over the canonical form of the message.", examples=["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ=="])
    public_key_fingerprint: Fingerprint | None = Field(default=None, description="Selects the key among several keys of the agent.", examples=["sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"])


class BaseMessage(Envelope):
    """The members of all envelopes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59", "message_type": "request", "sender_id": "shop-agent", "recipient_id": "price-agent", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"method": "get_price", "parameters": {"symbol": "TEA", "currency": "EUR"}}, "correlation_id": None, "auth": {"agent_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "nonce": "9f86d081884c7d659a2feaa0c55ad015", "signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==", "public_key_fingerprint": "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}}]})

    message_id: MessageId = Field(description="The unique id of this message.", examples=["3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59"])
    message_type: Literal["request", "response", "handshake", "handshake_ack", "error", "discover_agents", "agent_announcement", "goodbye"] = Field(description="The kind of the message. It determines the payload.", examples=["request"])
    sender_id: AgentId = Field(description="The agent that sends the message.", examples=["shop-agent"])
    recipient_id: AgentId = Field(description="The agent that the message is addressed to.", examples=["price-agent"])
    timestamp: Timestamp = Field(description="When the sender created the message.", examples=["2026-01-31T12:00:00.000Z"])
    payload: dict[str, Any] = Field(description="The content, as the message type defines it.", examples=[{"method": "get_price", "parameters": {"symbol": "TEA", "currency": "EUR"}}])
    correlation_id: MessageId | None = Field(default=None, description="The `message_id` of the message that this one answers.", examples=[None])
    auth: AuthenticationTag | None = Field(default=None, description="The signature of the sender.", examples=[{"agent_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "nonce": "9f86d081884c7d659a2feaa0c55ad015", "signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==", "public_key_fingerprint": "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}])


class RequestPayload(Strict):
    """The method to call and its parameters."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"method": "get_price", "parameters": {"symbol": "TEA", "currency": "EUR"}}]})

    method: Annotated[str, Text(min_length=1, max_length=128)] = Field(description="The method to call.", examples=["get_price"])
    parameters: dict[str, Any] | None = Field(default_factory=dict, description="The parameters of the method. Defaults to an empty object.", examples=[{"symbol": "TEA", "currency": "EUR"}])


class RequestMessage(BaseMessage):
    """Calls a method of an agent."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59", "message_type": "request", "sender_id": "shop-agent", "recipient_id": "price-agent", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"method": "get_price", "parameters": {"symbol": "TEA", "currency": "EUR"}}, "correlation_id": None}]})

    message_type: Literal["request"] = Field(description="The kind of the message. It determines the payload.", examples=["request"])
    payload: RequestPayload = Field(description="The content, as the message type defines it.", examples=[{"method": "get_price", "parameters": {"symbol": "TEA", "currency": "EUR"}}])
    correlation_id: None = Field(default=None, description="The `message_id` of the message that this one answers.", examples=[None])


class SuccessResponsePayload(Strict):
    """The request succeeded."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "success", "data": {"symbol": "TEA", "price": 4.25, "currency": "EUR"}}]})

    status: Literal["success"] = Field(description="`success`: the result is in `data`.", examples=["success"])
    data: dict[str, Any] = Field(description="The result of the method.", examples=[{"symbol": "TEA", "price": 4.25, "currency": "EUR"}])


ErrorCode = Annotated[
    str,
    Text(r"^[A-Z][A-Z0-9_]*[A-Z0-9]$(?!\n)"),
]
"""A machine-readable error code. The standard codes are INVALID_MESSAGE, VALIDATION_FAILED, AUTHENTICATION_FAILED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, RATE_LIMIT_EXCEEDED, PAYLOAD_TOO_LARGE, INTERNAL_ERROR, SERVICE_UNAVAILABLE and TIMEOUT; agents may define their own."""


class ErrorObject(Strict):
    """Why a request failed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "INVALID_CURRENCY", "message": "The currency XYZ is not supported.", "details": {"supported_currencies": ["EUR", "USD"]}}]})

    code: ErrorCode = Field(description="The error code.", examples=["INVALID_CURRENCY"])
    message: Annotated[str, Text(min_length=1)] = Field(description="A sentence for people.", examples=["The currency XYZ is not supported."])
    details: dict[str, Any] | None = Field(default=None, description="More about the error, for programs.", examples=[{"supported_currencies": ["EUR", "USD"]}])



class ErrorResponsePayload(Strict):
    """The agent understood the request and rejected it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "error", "error": {"code": "NOT_FOUND", "message": "There is no symbol XYZ."}}]})

    status: Literal["error"] = Field(description="`error`: the reason is in `error`.", examples=["error"])
    error: ErrorObject = Field(description="Why the agent rejected the request.", examples=[{"code": "NOT_FOUND", "message": "There is no symbol XYZ."}])


ResponsePayload = Union[SuccessResponsePayload, ErrorResponsePayload]
"""The result of a request: data or an error."""

class ResponseMessage(BaseMessage):
    """Answers a request."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "message_type": "response", "sender_id": "price-agent", "recipient_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"status": "success", "data": {"symbol": "TEA", "price": 4.25, "currency": "EUR"}}, "correlation_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59"}]})

    message_type: Literal["response"] = Field(description="The kind of the message. It determines the payload.", examples=["response"])
    payload: ResponsePayload = Field(description="The content, as the message type defines it.", examples=[{"status": "success", "data": {"symbol": "TEA", "price": 4.25, "currency": "EUR"}}])
    correlation_id: MessageId = Field(description="The `message_id` of the message that this one answers.", examples=["3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59"])

SemanticVersion = Annotated[
    str,
    Text(r"^[0-9]+\.[0-9]+\.[0-9]+$(?!\n)"),
]
"""Major, minor and patch version."""


class AgentCard(Strict):
    """How an agent describes itself in a handshake. This is not the A2A agent card."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent_id": "shop-agent", "name": "Shop", "version": "1.2.0", "description": "Buys things when they are cheap.", "capabilities": ["purchasing"], "supported_protocols": ["A2A/1.0"], "metadata": {"region": "eu-west"}}]})

    agent_id: AgentId = Field(description="The id under which the agent sends and receives.", examples=["shop-agent"])
    name: Annotated[str, Text(min_length=1, max_length=100)] = Field(description="The name of the agent for people.", examples=["Shop"])
    version: SemanticVersion = Field(description="The version of the agent.", examples=["1.2.0"])
    description: Annotated[str, Text(max_length=500)] = Field(description="What the agent does.", examples=["Buys things when they are cheap."])
    capabilities: Annotated[list[str], MinLen(1), MaxLen(50)] = Field(description="What the agent can do, in words that a registry searches.", examples=[["purchasing"]])
    supported_protocols: Annotated[list[str], MinLen(1)] = Field(description="The protocol versions that the agent speaks.", examples=[["A2A/1.0"]])
    metadata: dict[str, Any] | None = Field(default=None, description="Anything else about the agent.", examples=[{"region": "eu-west"}])



class HandshakePayload(Strict):
    """Starts a session between two agents."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent_card": {"agent_id": "shop-agent", "name": "Shop", "version": "1.2.0", "description": "Buys things when they are cheap.", "capabilities": ["purchasing"], "supported_protocols": ["A2A/1.0"]}}]})

    agent_card: AgentCard = Field(description="The card of the agent that starts the session.", examples=[{"agent_id": "shop-agent", "name": "Shop", "version": "1.2.0", "description": "Buys things when they are cheap.", "capabilities": ["purchasing"], "supported_protocols": ["A2A/1.0"]}])


class HandshakeMessage(BaseMessage):
    """Introduces the sender."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59", "message_type": "handshake", "sender_id": "shop-agent", "recipient_id": "price-agent", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"agent_card": {"agent_id": "shop-agent", "name": "Shop", "version": "1.2.0", "description": "Buys things when they are cheap.", "capabilities": ["purchasing"], "supported_protocols": ["A2A/1.0"]}}, "correlation_id": None}]})

    message_type: Literal["handshake"] = Field(description="The kind of the message. It determines the payload.", examples=["handshake"])
    payload: HandshakePayload = Field(description="The content, as the message type defines it.", examples=[{"agent_card": {"agent_id": "shop-agent", "name": "Shop", "version": "1.2.0", "description": "Buys things when they are cheap.", "capabilities": ["purchasing"], "supported_protocols": ["A2A/1.0"]}}])
    correlation_id: None = Field(default=None, description="The `message_id` of the message that this one answers.", examples=[None])

HttpUrl = Annotated[
    str,
    Text(r"^https?://(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/(?:[A-Za-z0-9._~:/@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?(?:\?(?:[A-Za-z0-9._~:/@!$&'()*+,;=?-]|%[0-9A-Fa-f]{2})*)?(?:#(?:[A-Za-z0-9._~:/@!$&'()*+,;=?-]|%[0-9A-Fa-f]{2})*)?$(?!\n)"),
]
"""An absolute HTTP URL without credentials."""


class ErrorDetails(Strict):
    """Why a message was rejected, when to retry (in seconds), and where to read more."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "RATE_LIMIT_EXCEEDED", "message": "Too many requests: try again in 3 seconds.", "details": {"limit": 100}, "retry_after": 3, "documentation_url": "https://example.com/limits"}]})

    code: ErrorCode = Field(description="The error code.", examples=["RATE_LIMIT_EXCEEDED"])
    message: Annotated[str, Text(min_length=1, max_length=500)] = Field(description="A sentence for people.", examples=["Too many requests: try again in 3 seconds."])
    details: dict[str, Any] | None = Field(default=None, description="More about the error, for programs.", examples=[{"limit": 100}])
    retry_after: Annotated[Integer, Ge(0)] | None = Field(default=None, description="The number of seconds to wait before a retry.", examples=[3])
    documentation_url: HttpUrl | None = Field(default=None, description="A page that explains the error.", examples=["https://example.com/limits"])



class ErrorPayload(Strict):
    """A protocol violation, or an agent that cannot answer."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"error": {"code": "RATE_LIMIT_EXCEEDED", "message": "Too many requests: try again in 3 seconds.", "details": {"limit": 100}, "retry_after": 3, "documentation_url": "https://example.com/limits"}}]})

    error: ErrorDetails = Field(description="What went wrong.", examples=[{"code": "RATE_LIMIT_EXCEEDED", "message": "Too many requests: try again in 3 seconds.", "details": {"limit": 100}, "retry_after": 3, "documentation_url": "https://example.com/limits"}])


class ErrorMessage(BaseMessage):
    """Reports that a message was rejected or could not be handled."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "message_type": "error", "sender_id": "price-agent", "recipient_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"error": {"code": "RATE_LIMIT_EXCEEDED", "message": "Too many requests: try again in 3 seconds.", "details": {"limit": 100}, "retry_after": 3, "documentation_url": "https://example.com/limits"}}, "correlation_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59"}]})

    message_type: Literal["error"] = Field(description="The kind of the message. It determines the payload.", examples=["error"])
    payload: ErrorPayload = Field(description="The content, as the message type defines it.", examples=[{"error": {"code": "RATE_LIMIT_EXCEEDED", "message": "Too many requests: try again in 3 seconds.", "details": {"limit": 100}, "retry_after": 3, "documentation_url": "https://example.com/limits"}}])
    correlation_id: MessageId = Field(description="The `message_id` of the message that this one answers.", examples=["3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59"])


class DiscoverFilters(Strict):
    """Narrows the search. Defaults to all agents, up to 100."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"status": "healthy", "max_results": 10}]})

    status: Literal["healthy", "unhealthy", "all"] = Field(default="all", description="The health of the agents to list. Defaults to `all`.", examples=["healthy"])
    max_results: Annotated[Integer, Ge(1), Le(100)] = Field(default=100, description="The number of agents to list. Defaults to 100.", examples=[10])



class DiscoverAgentsPayload(Strict):
    """Searches the registry for agents with all of these capabilities."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"capabilities": ["prices"], "filters": {"status": "healthy", "max_results": 10}}]})

    capabilities: list[str] | None = Field(default=None, description="The capabilities that an agent must have, all of them.", examples=[["prices"]])
    filters: DiscoverFilters | None = Field(default=None, description="Further conditions.", examples=[{"status": "healthy", "max_results": 10}])


class DiscoverAgentsMessage(BaseMessage):
    """Searches the registry for agents."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59", "message_type": "discover_agents", "sender_id": "shop-agent", "recipient_id": "registry", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"capabilities": ["prices"], "filters": {"status": "healthy", "max_results": 10}}, "correlation_id": None}]})

    message_type: Literal["discover_agents"] = Field(description="The kind of the message. It determines the payload.", examples=["discover_agents"])
    recipient_id: Literal["registry"] = Field(description="The agent that the message is addressed to.", examples=["registry"])
    payload: DiscoverAgentsPayload = Field(description="The content, as the message type defines it.", examples=[{"capabilities": ["prices"], "filters": {"status": "healthy", "max_results": 10}}])
    correlation_id: None = Field(default=None, description="The `message_id` of the message that this one answers.", examples=[None])


class AgentInfo(Strict):
    """An agent in the registry."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"agent_id": "price-agent", "name": "Prices", "capabilities": ["prices"], "status": "healthy", "endpoint": "https://prices.example.com/mesh", "last_heartbeat": "2026-01-31T12:00:00.000Z"}]})

    agent_id: AgentId = Field(description="The id of the agent.", examples=["price-agent"])
    name: str = Field(description="The name of the agent for people.", examples=["Prices"])
    capabilities: list[str] = Field(description="What the agent can do.", examples=[["prices"]])
    status: Literal["healthy", "unhealthy"] = Field(description="Whether the agent answered its last health check.", examples=["healthy"])
    endpoint: HttpUrl = Field(description="Where the agent receives messages.", examples=["https://prices.example.com/mesh"])
    last_heartbeat: DateTime | None = Field(default=None, description="When the registry last heard from the agent.", examples=["2026-01-31T12:00:00.000Z"])



class AgentAnnouncementPayload(Strict):
    """The agents found. `total_count` includes agents beyond `max_results`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agents": [{"agent_id": "price-agent", "name": "Prices", "capabilities": ["prices"], "status": "healthy", "endpoint": "https://prices.example.com/mesh", "last_heartbeat": "2026-01-31T12:00:00.000Z"}], "total_count": 1, "query_time_ms": 0.4}]})

    agents: list[AgentInfo] = Field(description="The agents found, up to `max_results`.", examples=[[{"agent_id": "price-agent", "name": "Prices", "capabilities": ["prices"], "status": "healthy", "endpoint": "https://prices.example.com/mesh", "last_heartbeat": "2026-01-31T12:00:00.000Z"}]])
    total_count: Annotated[Integer, Ge(0)] = Field(description="The number of agents that match.", examples=[1])
    query_time_ms: Annotated[Number, Ge(0)] | None = Field(default=None, description="The duration of the search in milliseconds.", examples=[0.4])


class AgentAnnouncementMessage(BaseMessage):
    """Answers discovery."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "message_type": "agent_announcement", "sender_id": "registry", "recipient_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"agents": [{"agent_id": "price-agent", "name": "Prices", "capabilities": ["prices"], "status": "healthy", "endpoint": "https://prices.example.com/mesh", "last_heartbeat": "2026-01-31T12:00:00.000Z"}], "total_count": 1, "query_time_ms": 0.4}, "correlation_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59"}]})

    message_type: Literal["agent_announcement"] = Field(description="The kind of the message. It determines the payload.", examples=["agent_announcement"])
    sender_id: Literal["registry"] = Field(description="The agent that sends the message.", examples=["registry"])
    payload: AgentAnnouncementPayload = Field(description="The content, as the message type defines it.", examples=[{"agents": [{"agent_id": "price-agent", "name": "Prices", "capabilities": ["prices"], "status": "healthy", "endpoint": "https://prices.example.com/mesh", "last_heartbeat": "2026-01-31T12:00:00.000Z"}], "total_count": 1, "query_time_ms": 0.4}])
    correlation_id: MessageId = Field(description="The `message_id` of the message that this one answers.", examples=["3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59"])

class AuthenticatedMessage(BaseMessage):
    """A signed envelope."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59", "message_type": "request", "sender_id": "shop-agent", "recipient_id": "price-agent", "timestamp": "2026-01-31T12:00:00.000Z", "payload": {"method": "get_price", "parameters": {"symbol": "TEA", "currency": "EUR"}}, "correlation_id": None, "auth": {"agent_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "nonce": "9f86d081884c7d659a2feaa0c55ad015", "signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==", "public_key_fingerprint": "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}}]})

    auth: AuthenticationTag = Field(description="The signature of the sender.", examples=[{"agent_id": "shop-agent", "timestamp": "2026-01-31T12:00:00.000Z", "nonce": "9f86d081884c7d659a2feaa0c55ad015", "signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==", "public_key_fingerprint": "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}])

Message = Annotated[Union[RequestMessage, ResponseMessage, HandshakeMessage, ErrorMessage, DiscoverAgentsMessage, AgentAnnouncementMessage], Field(discriminator="message_type")]
"""Any envelope of this version, discriminated by its type."""
