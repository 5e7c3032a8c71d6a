import type { MessageEvent } from '../protocol/events.ts'
import type { Call, SendRequest } from '../protocol/service.ts'
import type { NewTask } from '../tasks/log.ts'
import type { Acceptance } from './acceptance.ts'
import { activeExtensions } from './extensions.ts'

/** What is stored of a message. What must not be is kept aside, where its ticket finds it. */
export function receive(
  request: SendRequest,
  call: Call,
  { taskId, contextId }: NewTask,
  { settings: { agent, delegation, vault }, inBand = [], secret }: Acceptance,
): MessageEvent {
  const token = delegation?.tokenOf(call.principal)
  const isKept = token !== undefined || inBand.length > 0 || secret !== undefined
  const ticket = isKept ? vault.keep({ token, inBand, parts: secret }) : undefined
  return {
    type: 'message',
    message: { ...request.message, taskId, contextId },
    principal: call.principal,
    metadata: request.metadata,
    acceptedOutputModes: request.configuration?.acceptedOutputModes,
    dialect: request.dialect,
    ...(call.extensions && { extensions: activeExtensions(agent.profile.extensions ?? [], call) }),
    ...(call.trace && { trace: call.trace }),
    ...(request.tellsTrace && { tellsTrace: true }),
    ...(ticket !== undefined && { ticket }),
    ...(secret && { sensitive: true }),
  }
}
