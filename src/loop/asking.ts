import type {
  LanguageModelV4,
  LanguageModelV4File,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
} from '@ai-sdk/provider'
import type { Invocation, Journal } from '../agent/work.ts'
import { toBase64 } from '../protocol/base64.ts'
import type { JsonObject, Part } from '../protocol/model.ts'
import { type Asked, type AskModelOptions, askModel } from './ask-model.ts'
import type { Questions } from './questions.ts'
import type { Response } from './response.ts'
import type { Telling } from './telling.ts'
import { type Watcher, watchedModel } from './watched.ts'

export interface AskingOptions extends AskModelOptions {
  readonly model: LanguageModelV4
  readonly response: Response
  readonly telling: Telling
  readonly questions: Questions
  /** What the model is told first. Who resumes a turn does not need it before there is something new to say. */
  readonly prepare: () => Promise<LanguageModelV4Message[]>
  readonly watcher: Watcher | undefined
  /** What was said since. */
  readonly since: readonly LanguageModelV4Message[]
}

/** Gives what the model says next, and tells it, unless it was said to a process that is gone. */
export type Asking = (tools: LanguageModelV4FunctionTool[]) => Promise<Asked>

export function createAsking(options: AskingOptions, { journal, settled }: Invocation): Asking {
  const { model, response, telling, questions, prepare, since, hearing, watcher } = options
  let before: LanguageModelV4Message[] | undefined
  let step = 0

  /** Of the step under way: by which mark it is told, what of it is held back, what else it has brought. */
  let mark: string | undefined
  let held: string[] | undefined
  let files = 0
  let hasSpoken = false
  const listener = {
    hasSpoken: () => hasSpoken,
    onText(delta: string) {
      hasSpoken = true
      if (held) held.push(delta)
      else response.write(delta, mark)
    },
    onReasoning(text: string) {
      hasSpoken = true
      telling.progress(text, { type: 'reasoning' }, mark)
    },
    onFile(file: LanguageModelV4File) {
      hasSpoken = true
      telling.artifact(`file-${step}`, ++files, { name: 'file', parts: [filePart(file)] }, mark)
    },
  }

  /** Waits for nothing that is there: every layer of promises is paid for in every step. */
  function askNow(tools: LanguageModelV4FunctionTool[]): Promise<Asked> {
    if (!before) return begin(tools)
    // A secret that is said in pieces is found only in the whole.
    held = questions.hasSecret() ? [] : undefined
    files = 0
    hasSpoken = false
    const offered = tools.length > 0 ? tools : undefined
    const asked = { prompt: before.concat(since), tools: offered, abortSignal: hearing.signal }
    const ask = () => askModel(model, asked, listener, options)
    const answer = watcher ? watchedModel(model, watcher, ask) : ask()
    return held ? answer.then(tellHeld) : answer
  }

  async function begin(tools: LanguageModelV4FunctionTool[]): Promise<Asked> {
    before = await prepare()
    return await askNow(tools)
  }

  function tellHeld(answer: Asked): Asked {
    if (held && held.length > 0) response.write(held.join(''), mark)
    return answer
  }

  async function recall(kept: Journal, tools: LanguageModelV4FunctionTool[]): Promise<Asked> {
    let isLive = false
    const answer = await journalled(kept, `model ${step}`, async (within) => {
      isLive = true
      mark = within
      const said = await askNow(tools)
      // What is told of a step is stored before the step is.
      await settled?.()
      return said
    })
    if (isLive) return answer
    if (!('failed' in answer)) response.recall(answer.text)
    return { ...answer, isRecalled: true }
  }

  return (tools) => {
    step++
    return journal ? recall(journal, tools) : askNow(tools)
  }
}

/** What a model says is JSON, although its types do not tell. */
async function journalled(journal: Journal, name: string, work: (mark: string) => Promise<Asked>): Promise<Asked> {
  return (await journal(name, async (mark) => (await work(mark)) as unknown as JsonObject)) as unknown as Asked
}

function filePart({ mediaType, data }: LanguageModelV4File): Part {
  if (data.type === 'url') return { url: `${data.url}`, mediaType }
  return { raw: typeof data.data === 'string' ? data.data : toBase64(data.data), mediaType }
}
