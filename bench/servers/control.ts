import { setTimeout as sleep } from 'node:timers/promises'

/** What the bench may ask a server process. */
export interface Questions {
  /** What the process has used so far. */
  readonly usage: Usage
  /** The same, after everything that nobody holds was collected. */
  readonly usageCollected: Usage
  /** The highest memory since it was last asked. */
  readonly peak: number
  /** Lets the agent of a gated task go on; answers when it has finished, with how many milliseconds it took. */
  readonly openGate: { readonly milliseconds: number; readonly secondHalf: number }
  /** Readers that wait for more events. */
  readonly waiting: number
  /** Handles that are open, such as sockets. */
  readonly handles: number
}

export interface Usage {
  /** Microseconds of CPU, of all threads. */
  readonly cpu: number
  readonly rss: number
  readonly heap: number
}

export interface ToServer {
  readonly id: number
  readonly question: keyof Questions
}

export type FromServer = { readonly port: number } | { readonly id: number; readonly answer: unknown }

type Answers = { readonly [Name in keyof Questions]?: () => Questions[Name] | Promise<Questions[Name]> }

/** Tells the bench where this server listens, and answers its questions until it is gone. */
export function control(port: number, more: Answers = {}): void {
  const answers: Answers = { usage, usageCollected, ...more }
  process.on('message', async ({ id, question }: ToServer) => {
    tell({ id, answer: await answers[question]?.() })
  })
  process.on('disconnect', () => process.exit())
  tell({ port })
}

function tell(message: FromServer): void {
  process.send?.(message)
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return { cpu: user + system, rss, heap: heapUsed }
}

async function usageCollected(): Promise<Usage> {
  // More than once, because finalizers let go of more.
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc?.()
    await sleep(20)
  }
  return usage()
}
