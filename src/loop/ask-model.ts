import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { A2AError } from '../protocol/errors.ts'
import type { Brake } from './brake.ts'
import type { Hearing } from './hearing.ts'
import { type ModelListener, type ModelStep, takeStep } from './model-step.ts'

export interface AskModelOptions {
  /** Characters that it may say. */
  readonly maxTextLength: number
  readonly modelRetries: number
  readonly report: (error: unknown) => void
  readonly hearing: Hearing
  readonly brake: Brake
}

/** What a model has said, or what the caller is told of it. */
export type Asked = (ModelStep | { readonly failed: string }) & {
  /** It was said to a process that is gone. */
  readonly isRecalled?: true
}

/** Asks a model, and again if it has said nothing yet and its provider thinks that this makes sense. */
export function askModel(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  listener: ModelListener & { readonly hasSpoken: () => boolean },
  limits: AskModelOptions,
  attempt = 0,
): Promise<Asked> {
  return takeStep(model, options, listener, limits).catch(async (error): Promise<Asked> => {
    const { brake, modelRetries, report } = limits
    brake.signal.throwIfAborted()
    report(error)
    const hasSpoken = listener.hasSpoken()
    if (!hasSpoken && attempt < modelRetries && isRetryable(error)) {
      await pause(500 * 2 ** attempt, brake)
      return await askModel(model, options, listener, limits, attempt + 1)
    }
    // What a provider says of its errors is not for callers: it may tell addresses and keys.
    if (error instanceof A2AError) return { failed: error.message }
    return { failed: hasSpoken ? 'The model broke off in its answer.' : 'The model could not be asked.' }
  })
}

/** As the errors of providers say of themselves. */
function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'isRetryable' in error && error.isRetryable === true
}

function pause(milliseconds: number, brake: Brake): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      release()
      resolve()
    }, milliseconds)
    const release = brake.onStop((reason) => {
      clearTimeout(timer)
      reject(reason)
    })
  })
}
