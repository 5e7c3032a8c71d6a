/** The common interface of the real clients of other SDKs, so that one suite tests all of them. */
export interface SdkClient {
  /** The card that the client uses. */
  card(): Promise<unknown>
  send(text: string, options?: SdkSendOptions): Promise<SdkOutcome>
  stream(text: string, options?: SdkSendOptions): AsyncGenerator<SdkEvent>
  get(id: string, historyLength?: number): Promise<SdkTask>
  cancel(id: string): Promise<SdkTask>
  subscribe(id: string): AsyncGenerator<SdkEvent>
  list?(pageSize: number, pageToken?: string): Promise<{ readonly ids: string[]; readonly nextPageToken: string }>
  /** Its push config operations, called although the card declares no push. */
  readonly push: Readonly<Record<string, (taskId: string) => Promise<unknown>>>
  /** Requests the extended card although the card declares none. */
  extendedCard?(): Promise<unknown>
}

export interface SdkSendOptions {
  readonly taskId?: string
  /** `false` does not wait for the task to end. */
  readonly blocking?: boolean
}

export type SdkOutcome = { readonly message: string } | { readonly task: SdkTask }

export interface SdkTask {
  readonly id: string
  /** In the spelling of 0.3. */
  readonly state: string
  /** The text of each part of each artifact. */
  readonly artifacts: readonly (readonly string[])[]
  /** The text of each message. */
  readonly history: readonly string[]
}

export interface SdkEvent {
  readonly taskId: string | undefined
  /** A summary such as `status completed: Counted, final`. */
  readonly words: string
}

/** The task of an outcome. Throws if it is a message. */
export function taskOf(outcome: SdkOutcome): SdkTask {
  if ('task' in outcome) return outcome.task
  throw new Error(`expected a task, got the message ${outcome.message}`)
}

const namesByCode: Readonly<Record<string, string>> = {
  '-32001': 'TaskNotFoundError',
  '-32002': 'TaskNotCancelableError',
  '-32003': 'PushNotificationNotSupportedError',
  '-32004': 'UnsupportedOperationError',
}

/** The error class that the SDK threw, or the name of the code in its message. */
export async function failureOf(attempt: () => Promise<unknown>): Promise<string> {
  try {
    return `no failure, but ${JSON.stringify(await attempt())}`
  } catch (error) {
    if (!(error instanceof Error)) return `${error}`
    const { name, message } = error.cause instanceof Error ? error.cause : error
    if (name !== 'Error') return name
    return namesByCode[/Code: (-\d+)/.exec(message)?.[1] ?? ''] ?? message
  }
}
