import type { A2AClient } from 'a2a-sdk-0-3-first/client'
import type { LegacyClient } from './legacy-client.ts'

type RpcClient = Pick<A2AClient, keyof LegacyClient | 'getTaskPushNotificationConfig'>

/** A client that gives JSON-RPC answers as they came, as one that gives results and throws errors. */
export function unwrapResults(client: RpcClient): LegacyClient {
  return {
    sendMessage: (params) => unwrapResult(client.sendMessage(params)),
    sendMessageStream: (params) => client.sendMessageStream(params),
    getTask: (params) => unwrapResult(client.getTask(params)),
    cancelTask: (params) => unwrapResult(client.cancelTask(params)),
    resubscribeTask: (params) => client.resubscribeTask(params),
  }
}

type RpcAnswer<T> = { result: T } | { error: { code: number; message: string } }

export async function unwrapResult<T>(answering: Promise<RpcAnswer<T>>): Promise<T> {
  const answer = await answering
  if ('error' in answer) throw new Error(`${answer.error.message} (Code: ${answer.error.code})`)
  return answer.result
}
