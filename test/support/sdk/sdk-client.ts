/** A real client of another SDK, seen so that one story can be told of all of them. */
export interface SdkClient {
  /** The card that it works with. */
  card(): Promise<unknown>
  send(text: string, sending?: SdkSendOptions): Promise<SdkOutcome>
  stream(text: string, sending?: SdkSendOptions): AsyncGenerator<SdkEvent>
  get(id: string, historyLength?: number): Promise<SdkTask>
  cancel(id: string): Promise<SdkTask>
  subscribe(id: string): AsyncGenerator<SdkEvent>
  list?(pageSize: number, pageToken?: string): Promise<{ readonly ids: string[]; readonly nextPageToken: string }>
  /** Each operation on push configs that it has, tried on a task although the card says that there is no push. */
  readonly push: Readonly<Record<string, (taskId: string) => Promise<unknown>>>
  /** Asks for the extended card although the card says that there is none. */
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
  /** As 0.3 writes it. */
  readonly state: string
  /** The text of each part of each artifact. */
  readonly artifacts: readonly (readonly string[])[]
  /** The text of each message. */
  readonly history: readonly string[]
}

export interface SdkEvent {
  readonly taskId: string | undefined
  /** What it says, in words such as `status completed: Counted, final`. */
  readonly words: string
}

/** The task that an outcome must be. */
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

/** How a try went wrong, as far as the SDK understood it: by the class of its error, or the code that it shows. */
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
