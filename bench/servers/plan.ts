/** How much an agent shall write; it stands as JSON in the message's text. Any other text means a small task. */
export interface Plan {
  readonly chunks: number
  readonly bytes: number
  /** How many writes may be in flight; 1 means that each is awaited. */
  readonly window?: number
  /** Milliseconds before each chunk, which then is the time at which it is written. */
  readonly pace?: number
  /** Wait until the bench says go. */
  readonly gated?: boolean
}

export function readPlan(text: string): Plan | undefined {
  return text.startsWith('{') ? (JSON.parse(text) as Plan) : undefined
}

/** The text of a chunk: its number, counted from 1, filled up. */
export function chunkOf(number: number, bytes: number): string {
  return `${number}`.padEnd(bytes, 'x')
}

/** Milliseconds by the clock that all processes of a machine share, and that nobody sets. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
