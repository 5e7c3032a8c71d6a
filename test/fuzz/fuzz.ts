import { createRandom } from '../support/random.ts'
import { createMalformedRequest, type RawRequest } from './malformed-request.ts'
import { faultOfResponse, type RawOutcome } from './response-faults.ts'

/** `FUZZ_SEED=7 FUZZ_ROUNDS=1000000 npx vitest run test/fuzz` uses another seed and more rounds. */
export const seed = Number(process.env.FUZZ_SEED ?? 1)
export const rounds = Number(process.env.FUZZ_ROUNDS ?? 90_000)

export interface FuzzOptions {
  /** Number of the first request. The number seeds the request, so that it can be repeated. */
  readonly from: number
  /** One more than the number of the last request. */
  readonly to: number
  readonly exchange: (request: RawRequest) => Promise<RawOutcome>
}

/** Sends malformed requests concurrently, and throws at the first invalid response. */
export async function fuzz({ from, to, exchange }: FuzzOptions): Promise<void> {
  const taskIds = createTaskIds()
  let next = Math.round(from)

  async function worker(): Promise<void> {
    while (next < to) {
      const number = next++
      const request = createMalformedRequest(createRandom(seed * 1_000_003 + number), taskIds.all)
      const outcome = await withTimeout(exchange(request)).catch((cause) => {
        throw new Error(`Request ${number} got no response: ${describe(request)}`, { cause })
      })
      const fault = faultOfResponse(outcome)
      if (fault !== undefined)
        throw new Error(`Request ${number} got ${fault}: ${describe(request)} → ${describe(outcome)}`)
      taskIds.collect(outcome.body)
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
}

/** Ids of recent tasks, so that requests refer to running and to ended ones. */
function createTaskIds() {
  const all = ['unknown-task']
  let count = 0
  return {
    all,
    collect(body: string): void {
      const id = /"task":\{"id":"([^"]+)"/.exec(body)?.[1]
      if (id !== undefined) all[++count % 16] = id
    },
  }
}

/** No request takes long, so a missing response after this time is a failure. */
async function withTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(reject, 20_000, new Error('timed out'))
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

function describe(value: object): string {
  const text = JSON.stringify(value, (_key, inner) =>
    inner instanceof Uint8Array ? Buffer.from(inner).toString('latin1') : inner,
  )
  return text.length > 3_000 ? `${text.slice(0, 3_000)}…` : text
}
