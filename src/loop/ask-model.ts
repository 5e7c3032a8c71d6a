import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { A2AError } from '../protocol/errors.ts'
import { type ModelListener, type ModelStep, takeStep } from './model-step.ts'

export interface ModelLimits {
  readonly modelTimeout: number
  readonly maxTextLength: number
  readonly modelRetries: number
  readonly report: (error: unknown) => void
}

/** What a model has said, or what the caller is told of it. */
export type Asked = (ModelStep | { readonly failed: string }) & {
  /** It was said to a process that is gone. */
  readonly isRecalled?: true
}

/** Asks a model, and again if it has said nothing yet and its provider thinks that this makes sense. */
export async function askModel(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions & { readonly abortSignal: AbortSignal },
  listener: ModelListener,
  { modelTimeout, maxTextLength, modelRetries, report }: ModelLimits,
): Promise<Asked> {
  const { abortSignal } = options
  let hasSpoken = false
  const heard: ModelListener = {
    onText(delta) {
      hasSpoken = true
      listener.onText(delta)
    },
    onReasoning(text) {
      hasSpoken = true
      listener.onReasoning(text)
    },
    onFile(file) {
      hasSpoken = true
      listener.onFile(file)
    },
  }
  for (let attempt = 0; ; attempt++) {
    try {
      return await takeStep(model, options, heard, { silence: modelTimeout, length: maxTextLength })
    } catch (error) {
      abortSignal.throwIfAborted()
      report(error)
      if (!hasSpoken && attempt < modelRetries && isRetryable(error)) {
        await pause(500 * 2 ** attempt, abortSignal)
        continue
      }
      // What a provider says of its errors is not for callers: it may tell addresses and keys.
      if (error instanceof A2AError) return { failed: error.message }
      return { failed: hasSpoken ? 'The model broke off in its answer.' : 'The model could not be asked.' }
    }
  }
}

/** As the errors of providers say of themselves. */
function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'isRetryable' in error && error.isRetryable === true
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', leave)
      resolve()
    }, milliseconds)
    signal.addEventListener('abort', leave, { once: true })
  })
}
