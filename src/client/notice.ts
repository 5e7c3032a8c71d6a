/** What a caller may want to know although nothing failed. Each is told once per client, stream or cause. */
export type Notice =
  /** A stream was resumed at an agent that does not number its events: some between may be missing. */
  | { readonly type: 'best-effort'; readonly taskId: string; readonly message: string }
  /** A stream broke and goes on. */
  | { readonly type: 'resumed'; readonly taskId: string; readonly tries: number; readonly message: string }
  /** The agent does not stream what its card may promise: the task is asked for again and again instead. */
  | { readonly type: 'polling'; readonly message: string }
  /** The card did not lead to the agent, but something else did. */
  | { readonly type: 'detour'; readonly message: string; readonly hint: string }
  /** Events were held back on their way and came all at once. */
  | { readonly type: 'buffered'; readonly message: string; readonly hint: string }

export type Notify = (notice: Notice) => void
