/** What the agent writes, as JSON in the text of the message. Any other text means a small task. */
export interface Plan {
  readonly chunks: number
  readonly bytes: number
  /** Maximum number of writes in flight; with 1, the agent awaits each. */
  readonly window?: number
  /** Milliseconds before each chunk. The chunk then contains the time at which it was written. */
  readonly delay?: number
  /** Waits until the benchmark opens the gate. */
  readonly gated?: boolean
  /** Emits this many status updates before the chunks. They add nothing to the task. */
  readonly updates?: number
  /** Does not end before the task is canceled. */
  readonly open?: boolean
}

export function readPlan(text: string): Plan | undefined {
  return text.startsWith('{') ? (JSON.parse(text) as Plan) : undefined
}

/** The text of a chunk: its number, starting at 1, padded. */
export function chunkOf(number: number, bytes: number): string {
  return `${number}`.padEnd(bytes, 'x')
}

/** Milliseconds of the monotonic clock, which all processes of a machine share. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
