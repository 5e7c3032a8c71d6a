import type { Client } from '../client/client.ts'
import type { Part } from '../protocol/model.ts'
import { type Trace, traceHeaders } from '../protocol/trace.ts'

export interface AskDirectlyOptions {
  readonly signal: AbortSignal
  readonly skill?: string
  readonly trace?: Trace | undefined
}

/** Asks an agent where no turn of an agent stands behind the loop: nobody can be asked back. */
export async function askDirectly(
  client: Client,
  parts: readonly Part[],
  { signal, skill, trace }: AskDirectlyOptions,
): Promise<readonly Part[]> {
  const metadata = skill === undefined ? {} : { metadata: { skillId: skill } }
  const reply = await client.send(parts, {
    signal,
    timeout: Number.POSITIVE_INFINITY,
    headers: traceHeaders(trace),
    ...metadata,
  })
  if (reply.type === 'message') return reply.message.parts
  const { status, artifacts } = reply.task
  if (status.state !== 'completed') throw new Error(`"${client.card.name}" is ${status.state}: ${reply.text}`)
  return [...artifacts.flatMap((artifact) => artifact.parts), ...(status.message?.parts ?? [])]
}
