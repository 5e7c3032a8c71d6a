import type { ServerResponse } from 'node:http'
import { toListener } from '../../../src/core/node/listener.ts'
import type { Handler } from '../../../src/core/server/handler.ts'
import { startHttpServer } from './http-server.ts'

export interface CuttingServer {
  readonly url: string
  /** One line per request: `POST /`. */
  readonly requestLines: readonly string[]
}

/** Serves an agent and cuts its streams: the nth stream after `cuts[n]` events, and later streams not at all. */
export async function startCuttingServer({ exchange }: Handler, cuts: readonly number[]): Promise<CuttingServer> {
  const remainingCuts = [...cuts]
  const requestLines: string[] = []
  const listener = toListener(exchange)
  const url = await startHttpServer((request, response) => {
    requestLines.push(`${request.method} ${request.url}`)
    const isStream = request.headers.accept?.includes('text/event-stream') && request.method !== 'OPTIONS'
    const events = isStream ? remainingCuts.shift() : undefined
    if (events !== undefined) cutAfter(response, events)
    listener(request, response)
  })
  return { url, requestLines }
}

function cutAfter(response: ServerResponse, limit: number): void {
  const write = response.write.bind(response) as (text: string) => boolean
  let left = limit
  response.write = (chunk: unknown) => {
    const events = `${chunk}`.split(/(?<=\n\n)/)
    const isComplete = events.length < left
    const isWritten = write(events.slice(0, left).join(''))
    left -= events.length
    if (!isComplete) response.socket?.destroySoon()
    return isWritten
  }
}
