import type { Operation } from '../../src/conformance/requests.ts'
import { onAnswer, resultOf, succeed } from './fault-changes.ts'
import type { Fault, Json } from './faulty-agent.ts'

/** Faults of the rules about webhooks. */
export function pushFaults(): Record<string, Fault> {
  const configIn = (result: Json) => result?.pushNotificationConfig ?? result ?? {}
  const deleted = new Set<string>()
  const otherUrl = (operation: Operation) =>
    onAnswer(operation, (answer, call) => {
      configIn(resultOf(answer, call)).url = 'https://another.invalid/'
    })
  return {
    'push/create': otherUrl('push-create'),
    'push/get': otherUrl('push-get'),
    'push/get-unknown': succeed(
      'push-get',
      ({ params }) => /unknown/.test(params.id ?? '') || /unknown/.test(params.pushNotificationConfigId ?? ''),
    ),
    'push/list': onAnswer('push-list', (answer, call) => {
      const result = resultOf(answer, call)
      if (Array.isArray(result)) result.length = 0
      else if (result) result.configs = []
    }),
    'push/delete': {
      // The agent is asked to delete another webhook, so that this one stays.
      request: ({ operation, isRpc, isGrpc, params, url }) => {
        if (operation !== 'push-delete') return
        if (!isRpc && !isGrpc) url.pathname += '-other'
        else if (params.pushNotificationConfigId) params.pushNotificationConfigId += '-other'
        else params.id += '-other'
      },
    },
    'push/delete-again': onAnswer('push-delete', (answer, call) => {
      const key = JSON.stringify(call.params)
      if (!deleted.has(key)) return void deleted.add(key)
      answer.status = call.isRpc ? 200 : 404
      answer.json = { jsonrpc: '2.0', id: answer.json?.id ?? null, error: { code: -32001, message: 'Not found' } }
    }),
    'push/delivery': { webhook: () => undefined },
    'push/payload': { webhook: (delivery) => ({ ...delivery, body: '{"changed":true}' }) },
    'push/token': { webhook: ({ body }) => ({ headers: {}, body }) },
    'push/unknown-task': succeed('push-create'),
    'push/unsupported': { ...succeed('push-create'), agent: 'plain' },
  }
}
