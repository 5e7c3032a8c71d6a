import { type Attributes, SpanKind } from '@opentelemetry/api'
import type { Operation } from '../protocol/service.ts'
import type { Activity, Learned } from '../protocol/telemetry.ts'

/**
 * What spans are called and what they tell: by OpenTelemetry's draft conventions for generative AI where these have a
 * word, and under `a2a.` otherwise. Neither what is said nor what tools are given is ever among it.
 */

export function describe(activity: Activity): { readonly name: string; readonly kind: SpanKind } {
  switch (activity.type) {
    case 'operation': {
      const kind = activity.side === 'server' ? SpanKind.SERVER : SpanKind.CLIENT
      return { name: `${wireName(activity.operation)} ${activity.agent}`, kind }
    }
    case 'turn':
      return { name: `invoke_agent ${activity.agent}`, kind: SpanKind.INTERNAL }
    case 'call':
      return { name: `invoke_agent ${activity.agent}`, kind: SpanKind.CLIENT }
    case 'model':
      return { name: `chat ${activity.model}`, kind: SpanKind.CLIENT }
    case 'tool':
      return { name: `execute_tool ${activity.tool}`, kind: SpanKind.INTERNAL }
    case 'delivery':
      return { name: `push ${activity.host}`, kind: SpanKind.CLIENT }
    case 'event':
      return { name: `event ${activity.event}`, kind: SpanKind.INTERNAL }
    case 'mesh':
      return { name: `mesh ${activity.method}`, kind: activity.side === 'server' ? SpanKind.SERVER : SpanKind.CLIENT }
  }
}

export function attributesOf(activity: Activity): Attributes {
  switch (activity.type) {
    case 'operation':
      return { 'a2a.operation': wireName(activity.operation), 'gen_ai.agent.name': activity.agent }
    case 'turn':
      return {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': activity.agent,
        ...taskAttributes(activity),
        'a2a.attempt': activity.attempt,
      }
    case 'call':
      return {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': activity.agent,
        ...taskAttributes(activity),
      }
    case 'model':
      return {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': activity.provider,
        'gen_ai.request.model': activity.model,
      }
    case 'tool':
      return {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': activity.tool,
        'gen_ai.tool.call.id': activity.callId,
        ...(activity.description !== undefined && { 'gen_ai.tool.description': activity.description }),
      }
    case 'delivery':
      return {
        ...taskAttributes(activity),
        'server.address': activity.host,
        'a2a.generation': activity.generation,
        'http.request.resend_count': activity.attempt - 1,
      }
    case 'event':
      return {
        ...taskAttributes(activity),
        'a2a.event': activity.event,
        ...(activity.state !== undefined && { 'a2a.task.state': activity.state }),
      }
    case 'mesh':
      return { 'rpc.system': 'mesh', 'rpc.method': activity.method, 'mesh.peer': activity.peer }
  }
}

export function learnedAttributes(more: Learned): Attributes {
  const { agent, taskId, contextId, state, status, inputTokens, outputTokens, finish } = more
  return {
    ...(agent !== undefined && { 'gen_ai.agent.name': agent }),
    ...(taskId !== undefined && { 'a2a.task.id': taskId }),
    ...(contextId !== undefined && { 'gen_ai.conversation.id': contextId }),
    ...(state !== undefined && { 'a2a.task.state': state }),
    ...(status !== undefined && { 'http.response.status_code': status }),
    ...(inputTokens !== undefined && { 'gen_ai.usage.input_tokens': inputTokens }),
    ...(outputTokens !== undefined && { 'gen_ai.usage.output_tokens': outputTokens }),
    ...(finish !== undefined && { 'gen_ai.response.finish_reasons': [finish] }),
  }
}

function taskAttributes({ taskId, contextId }: { readonly taskId: string; readonly contextId: string }): Attributes {
  return { 'a2a.task.id': taskId, 'gen_ai.conversation.id': contextId }
}

/** As A2A 1.0 calls it: `SendMessage`. */
function wireName(operation: Operation): string {
  return `${operation.slice(0, 1).toUpperCase()}${operation.slice(1)}`
}
