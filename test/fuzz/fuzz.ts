import { createRandom } from '../support/random.ts'
import { malformed, type RawRequest } from './malformed.ts'
import { faultOfResponse, type RawOutcome } from './response-faults.ts'

/** `FUZZ_SEED=7 FUZZ_ROUNDS=1000000 npx vitest run test/fuzz` looks elsewhere, and for longer. */
export const seed = Number(process.env.FUZZ_SEED ?? 1)
export const rounds = Number(process.env.FUZZ_ROUNDS ?? 90_000)

export interface Fuzzing {
  /** The numbers of the first and of the one after the last request. Each has its own chance, so it can be repeated. */
  readonly from: number
  readonly to: number
  readonly exchange: (request: RawRequest) => Promise<RawOutcome>
}

/** Exchanges malformed requests, many at a time, and throws at the first answer that is not decent. */
export async function fuzz({ from, to, exchange }: Fuzzing): Promise<void> {
  const taskIds = createTaskIds()
  let next = Math.round(from)

  async function work(): Promise<void> {
    while (next < to) {
      const number = next++
      const request = malformed(createRandom(seed * 1_000_003 + number), taskIds.all)
      const outcome = await inTime(exchange(request)).catch((cause) => {
        throw new Error(`Request ${number} got no answer: ${tell(request)}`, { cause })
      })
      const fault = faultOfResponse(outcome)
      if (fault !== undefined) throw new Error(`Request ${number} got ${fault}: ${tell(request)} → ${tell(outcome)}`)
      taskIds.notice(outcome.body)
    }
  }
  await Promise.all(Array.from({ length: 32 }, work))
}

/** Ids of tasks that were answered just now, so that requests meet tasks that run, and tasks that have ended. */
function createTaskIds() {
  const all = ['nobody-knows']
  let turn = 0
  return {
    all,
    notice(body: string): void {
      const id = /"task":\{"id":"([^"]+)"/.exec(body)?.[1]
      if (id !== undefined) all[++turn % 16] = id
    },
  }
}

/** Nothing here takes long, so whoever gets no answer for so long will not get any. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(reject, 20_000, new Error('too late'))
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function tell(value: object): string {
  const text = JSON.stringify(value, (_key, inner) =>
    inner instanceof Uint8Array ? Buffer.from(inner).toString('latin1') : inner,
  )
  return text.length > 3_000 ? `${text.slice(0, 3_000)}…` : text
}
