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
  /** The members of an object, one prompt for each. Undefined if the user skips it, or writes no members one by one. */
  form(question: string, schema: JsonObject): Promise<JsonObject | undefined>
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
    async form(question, schema) {
      output.print(sanitize(question))
      const members: Record<string, Json> = {}
      for (const field of fieldsOf(schema)) {
        const answer = await askField(field)
        if (answer === canceled) return undefined
        if (answer !== undefined) members[field.name] = answer
      }
      return members
    },
    close() {},
  }
}

interface Field {
  readonly name: string
  readonly schema: JsonObject
  readonly isRequired: boolean
}

/** The members of an object schema, in their order. */
function fieldsOf({ properties, required }: JsonObject): readonly Field[] {
  const names = isList(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    schema: isObject(schema) ? schema : {},
    isRequired: names.includes(name),
  }))
}

const canceled = Symbol('canceled')

/** Prompts for one member. Undefined if it is optional and left out. */
async function askField({ name, schema, isRequired }: Field): Promise<Json | undefined | typeof canceled> {
  const { isCancel, select, text } = await import('@clack/prompts')
  const about = typeof schema.description === 'string' ? `: ${schema.description}` : ''
  const title = typeof schema.title === 'string' ? schema.title : name
  const message = sanitize(`${title}${about}${isRequired ? '' : ' (optional)'}`)
  const choices = choicesOf(schema)
  if (choices) {
    const none = { value: undefined as never, label: '(none)' }
    const answer = await select<Json>({ message, options: [...choices, ...(isRequired ? [] : [none])] as never })
    return isCancel(answer) ? canceled : answer
  }
  const answer = await text({
    message,
    ...(schema.default !== undefined && { initialValue: textOf(schema.default) }),
    validate: (value) => problemWith(value ?? '', schema, isRequired),
  })
  if (isCancel(answer)) return canceled
  return answer === '' || answer === undefined ? undefined : readField(answer, schema)
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function problemWith(text: string, schema: JsonObject, isRequired: boolean): string | undefined {
  if (text === '') return isRequired ? 'A value is required.' : undefined
  return readField(text, schema) === undefined ? `Expected ${expectedType(schema)}.` : undefined
}

function expectedType({ type }: JsonObject): string {
  if (type === 'number') return 'a number'
  if (type === 'integer') return 'a whole number'
  return 'JSON'
}

/** The value that a text stands for. Undefined if it is of another type. */
function readField(text: string, { type, items }: JsonObject): Json | undefined {
  if (type === 'string' || type === undefined) return text
  if (type === 'number' || type === 'integer') {
    const number = Number(text)
    const isRight = text.trim() !== '' && (type === 'number' ? Number.isFinite(number) : Number.isInteger(number))
    return isRight ? number : undefined
  }
  if (type === 'array' && isObject(items) && items.type === 'string' && !text.trim().startsWith('[')) {
    return text.split(',').map((item) => item.trim())
  }
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a schema describes an object whose members can be asked for one by one. */
export function isFormSchema(schema: JsonObject | undefined): schema is JsonObject {
  return schema?.type === 'object' && isObject(schema.properties) && Object.keys(schema.properties).length > 0
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
    async form() {
      const line = await next()
      if (line === undefined) throw new Interrupted('The input has ended.')
      const value = readField(line, { type: 'object' })
      return isObject(value) ? value : undefined
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
