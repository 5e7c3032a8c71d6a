import { createInterface } from 'node:readline'
import { isList, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { Interrupted } from '../errors.ts'
import { type Output, sanitize } from '../output.ts'

/** Lines of a terminal that the arrow keys bring back. */
const maxHistory = 200

/** Reads what the user writes: from a terminal with menus, or line by line from a pipe. */
export interface Prompts {
  /** The next message. Undefined at the end of the input. */
  line(prompt: string): Promise<string | undefined>
  /** A secret, which is not shown. Undefined if the user skips it. */
  secret(question: string): Promise<string | undefined>
  /** One of the choices. Undefined if the user skips it. */
  choice(question: string, choices: readonly Choice[]): Promise<Json | undefined>
  close(): void
}

/** A value that answers a question, and how it is shown. */
export interface Choice {
  readonly value: Json
  readonly label: string
}

export function createPrompts(output: Output): Prompts {
  return isInteractive() ? createTerminalPrompts(output) : createPipePrompts()
}

/** Whether a person writes and reads. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true
}

function createTerminalPrompts(output: Output): Prompts {
  let history: string[] = []
  let isLeaving = false
  return {
    line: (prompt) =>
      new Promise((resolve) => {
        const lines = createInterface({
          input: process.stdin,
          output: process.stdout,
          history,
          historySize: maxHistory,
        })
        let isAnswered = false
        lines.on('history', (kept) => {
          history = kept
        })
        lines.on('SIGINT', () => {
          // Ctrl-C drops the line. Twice on an empty line, it ends the chat.
          if (lines.line === '') {
            if (isLeaving) return lines.close()
            isLeaving = true
            output.note('\nCtrl-C again, Ctrl-D or /quit ends the chat.')
            return lines.prompt()
          }
          lines.write(null, { ctrl: true, name: 'e' })
          lines.write(null, { ctrl: true, name: 'u' })
        })
        lines.on('close', () => {
          if (!isAnswered) {
            output.print('')
            resolve(undefined)
          }
        })
        lines.question(prompt, (answer) => {
          isAnswered = true
          isLeaving = false
          lines.close()
          resolve(answer)
        })
      }),
    async secret(question) {
      const { isCancel, password } = await import('@clack/prompts')
      const answer = await password({ message: sanitize(question) })
      return isCancel(answer) || answer === '' ? undefined : answer
    },
    async choice(question, choices) {
      const { isCancel, select } = await import('@clack/prompts')
      const answer = await select<Json>({ message: sanitize(question), options: [...choices] as never })
      return isCancel(answer) ? undefined : answer
    },
    close() {},
  }
}

function createPipePrompts(): Prompts {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    return done ? undefined : value
  }
  return {
    line: next,
    secret: next,
    async choice(_, choices) {
      const answer = await next()
      if (answer === undefined) throw new Interrupted('The input has ended.')
      const text = answer.trim()
      const choice = choices.find(({ value, label }) => label === text || labelOf(value) === text)
      return choice ? choice.value : answer
    },
    close: () => void lines.return?.(),
  }
}

/** The values that a schema allows, if they can be listed. */
export function choicesOf(schema: JsonObject | undefined): readonly Choice[] | undefined {
  if (!schema) return undefined
  const toChoice = (value: Json, title: unknown = undefined): Choice => ({
    value,
    label: typeof title === 'string' ? sanitize(title) : labelOf(value),
  })
  if (isList(schema.enum)) return (schema.enum as readonly Json[]).map((value) => toChoice(value))
  if (schema.type === 'boolean') return [toChoice(true), toChoice(false)]
  const alternatives = schema.oneOf ?? schema.anyOf
  if (!isList(alternatives)) return undefined
  const choices = alternatives.flatMap((each) =>
    isObject(each) && 'const' in each ? [toChoice(each.const ?? null, each.title)] : [],
  )
  return choices.length === alternatives.length ? choices : undefined
}

function labelOf(value: Json): string {
  if (value === true) return 'yes'
  if (value === false) return 'no'
  return sanitize(typeof value === 'string' ? value : JSON.stringify(value))
}
