import type { A2AClient } from 'a2a-sdk-0-3-first/client'
import type { LegacyClient } from './legacy-client.ts'

type RpcClient = Pick<A2AClient, keyof LegacyClient | 'getTaskPushNotificationConfig'>

/** Wraps a client that returns JSON-RPC responses: returns their results and throws their errors. */
export function unwrapResults(client: RpcClient): LegacyClient {
  return {
    sendMessage: (params) => unwrapResult(client.sendMessage(params)),
    sendMessageStream: (params) => client.sendMessageStream(params),
    getTask: (params) => unwrapResult(client.getTask(params)),
    cancelTask: (params) => unwrapResult(client.cancelTask(params)),
    resubscribeTask: (params) => client.resubscribeTask(params),
  }
}

type RpcResponse<T> = { result: T } | { error: { code: number; message: string } }

export async function unwrapResult<T>(pending: Promise<RpcResponse<T>>): Promise<T> {
  const response = await pending
  if ('error' in response) throw new Error(`${response.error.message} (Code: ${response.error.code})`)
  return response.result
}
