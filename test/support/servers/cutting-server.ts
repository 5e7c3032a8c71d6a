import type { ServerResponse } from 'node:http'
import { toListener } from '../../../src/node/listener.ts'
import type { Handler } from '../../../src/server/handler.ts'
import { startHttpServer } from './http-server.ts'

export interface CuttingServer {
  readonly url: string
  /** What was asked, as `POST /`. */
  readonly asked: readonly string[]
}

/** An agent on a port whose streams break after so many events, one number each; streams beyond are left alone. */
export async function startCuttingServer({ exchange }: Handler, cuts: readonly number[]): Promise<CuttingServer> {
  const left = [...cuts]
  const asked: string[] = []
  const listener = toListener(exchange)
  const url = await startHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const isStream = request.headers.accept?.includes('text/event-stream') && request.method !== 'OPTIONS'
    const events = isStream ? left.shift() : undefined
    if (events !== undefined) cutAfter(response, events)
    listener(request, response)
  })
  return { url, asked }
}

function cutAfter(response: ServerResponse, events: number): void {
  const write = response.write.bind(response) as (text: string) => boolean
  let left = events
  response.write = (chunk: unknown) => {
    const told = `${chunk}`.split(/(?<=\n\n)/)
    const isAll = told.length < left
    const isWritten = write(told.slice(0, left).join(''))
    left -= told.length
    if (!isAll) response.socket?.destroySoon()
    return isWritten
  }
}
