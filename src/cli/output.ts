import { stripVTControlCharacters } from 'node:util'
import type { Json, JsonObject } from '../core/base/json.ts'
import { type Failure, toEnvelope } from './errors.ts'

/** Credentials shorter than this are removed from diagnostics only: they may occur in an answer by chance. */
const minPayloadSecret = 8

/** Milliseconds after which a wait is shown. */
const progressDelay = 1_000

const mark = '[redacted]'

/** Writes payload to stdout and everything else to stderr, without credentials and control sequences. */
export interface Output {
  readonly mode: 'text' | 'json'
  readonly isVerbose: boolean
  readonly isDebugging: boolean
  /** Whether a person reads stdout. */
  readonly isTerminal: boolean
  /** Styles text for stdout, if it is a terminal. */
  readonly style: Style
  /** Prints one `Label: value` line, or a `Label:` block closed by a blank line if the value has several lines. */
  field(label: string, value: string, format?: Format): void
  /** Prints a line of text payload. */
  print(text: string): void
  /** Prints a piece of text payload, which may be a part of a line. */
  write(text: string): void
  /** Prints the JSON document of the command. */
  document(value: Json): void
  /** Prints one line of JSON in a stream. */
  line(value: Json): void
  /** Information on stderr. */
  note(text: string): void
  /** What passes, such as progress: dimmed, on stderr. */
  aside(text: string): void
  /** Information on stderr for `--verbose`. */
  detail(text: string): void
  warn(text: string): void
  debug(text: string): void
  /** Shows on stderr what the command waits for, after a second. Returns a function that removes it. */
  progress(text: string | (() => string)): () => void
  failure(failure: Failure, isStreaming: boolean): void
  /** Registers a credential. Nothing prints it from now on. */
  hide(secret: string | undefined): void
  /** Replaces all credentials in a text. */
  redact(text: string): string
}

export interface OutputOptions {
  readonly mode: 'text' | 'json'
  readonly isVerbose: boolean
  readonly isDebugging: boolean
}

export type Style = (text: string, ...formats: readonly Format[]) => string

export type Format = keyof typeof formats

const formats = {
  bold: 1,
  dim: 2,
  italic: 3,
  underline: 4,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  cyan: 36,
} as const

export function createOutput({ mode, isVerbose, isDebugging }: OutputOptions): Output {
  const secrets = new Set<string>()
  const stdoutStyle = mode === 'text' && usesColors(process.stdout) ? applyStyle : plainStyle
  const stderrStyle = usesColors(process.stderr) ? applyStyle : plainStyle
  let clearProgress = () => {}

  function redact(text: string, minLength = 1): string {
    let redacted = text
    for (const secret of secrets) if (secret.length >= minLength) redacted = redacted.replaceAll(secret, mark)
    return redacted
  }
  function toStdout(text: string): void {
    clearProgress()
    process.stdout.write(`${redact(text, minPayloadSecret)}\n`)
  }
  function toStderr(text: string): void {
    clearProgress()
    process.stderr.write(`${redact(text)}\n`)
  }

  return {
    mode,
    isVerbose,
    isDebugging,
    isTerminal: process.stdout.isTTY === true,
    style: stdoutStyle,
    redact: (text) => redact(text),
    hide(secret) {
      if (!secret) return
      secrets.add(secret)
      secrets.add(encodeURIComponent(secret))
      secrets.add(JSON.stringify(secret).slice(1, -1))
    },
    field(label, value, format) {
      const text = sanitize(value).replace(/\n+$/, '')
      const clean = format ? stdoutStyle(text, format) : text
      const name = stdoutStyle(`${label}:`, 'bold')
      const line = () => wrapLine(`${name} ${clean}`.trimEnd(), process.stdout, 2)
      toStdout(clean.includes('\n') ? `${name}\n${clean}\n` : line())
    },
    print: (text) => toStdout(text),
    write(text) {
      clearProgress()
      process.stdout.write(redact(sanitize(text), minPayloadSecret))
    },
    document: (value) => toStdout(jsonText(value, 2)),
    line: (value) => toStdout(jsonText(value)),
    note: (text) => toStderr(wrapLine(sanitize(text), process.stderr)),
    aside: (text) => toStderr(stderrStyle(wrapLine(sanitize(text), process.stderr), 'dim')),
    detail(text) {
      if (isVerbose) toStderr(stderrStyle(sanitize(text), 'dim'))
    },
    warn: (text) => toStderr(wrapLine(`${stderrStyle('warning:', 'yellow')} ${sanitize(text)}`, process.stderr)),
    debug(text) {
      if (isDebugging) toStderr(stderrStyle(sanitize(text), 'dim'))
    },
    progress(text) {
      const stop = showProgress(text, stderrStyle)
      clearProgress = stop.clear
      return () => {
        stop.end()
        clearProgress = () => {}
      }
    },
    failure(failure, isStreaming) {
      const [message, hint] = [sanitize(redact(failure.message)), sanitize(redact(failure.hint))]
      const hidden = { ...failure, message, hint }
      if (mode === 'json') {
        const envelope: JsonObject = toEnvelope(hidden)
        toStdout(jsonText(envelope, isStreaming ? undefined : 2))
      }
      toStderr(wrapLine(`${stderrStyle('error:', 'red')} ${message}`, process.stderr))
      toStderr(wrapLine(`${stderrStyle('hint:', 'cyan')} ${hint}`, process.stderr))
    },
  }
}

/**
 * Removes control characters, so that an agent can neither move the cursor nor change the terminal. Line breaks and
 * tabs stay.
 */
export function sanitize(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(controlCharacters, (mark) => (/[\n\t]/.test(mark) ? mark : ''))
}

/**
 * Breaks lines that are wider than a terminal between words, and indents what follows. Other streams get them as they
 * are.
 */
export function wrapLine(
  text: string,
  { isTTY, columns }: Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>,
  indent = 0,
): string {
  if (!isTTY || !columns) return text
  const margin = ' '.repeat(indent)
  return text
    .split('\n')
    .map((line) => {
      if (stripVTControlCharacters(line).length <= columns) return line
      const [first = '', ...rest] = wrap(line, columns - indent)
      return [first, ...rest.map((each) => `${margin}${each}`)].join('\n')
    })
    .join('\n')
}

/** Breaks a text between words. Styles take no space. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const isFull = stripVTControlCharacters(`${line} ${word}`).length > width
    if (line !== '' && isFull) lines.push(line)
    line = line === '' || isFull ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Control characters, and the marks that reverse the direction of text. */
const controlCharacters = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** JSON that a terminal can show: what it would obey, or show in another order, is escaped. A parser reads the same value. */
function jsonText(value: Json, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** https://no-color.org */
function usesColors(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env
  if (NO_COLOR) return false
  if (FORCE_COLOR && FORCE_COLOR !== '0') return true
  return stream.isTTY === true && TERM !== 'dumb'
}

const plainStyle: Style = (text) => text

const applyStyle: Style = (text, ...names) =>
  names.reduce((styled, name) => `\u001b[${formats[name]}m${styled}\u001b[${resets[name]}m`, text)

const resets: Readonly<Record<Format, number>> = {
  bold: 22,
  dim: 22,
  italic: 23,
  underline: 24,
  red: 39,
  green: 39,
  yellow: 39,
  blue: 39,
  cyan: 39,
}

/** On a terminal, the line is rewritten every second and removed at the end. Otherwise it is printed once. */
function showProgress(text: string | (() => string), style: Style): { clear(): void; end(): void } {
  const { stderr } = process
  const start = Date.now()
  let isShown = false
  const clear = () => {
    if (isShown && stderr.isTTY) stderr.write('\r\u001b[K')
    isShown = false
  }
  const show = () => {
    const now = typeof text === 'string' ? text : text()
    if (!stderr.isTTY) return void stderr.write(`${now}\n`)
    const seconds = Math.round((Date.now() - start) / 1000)
    const line = `${now} ${seconds} s`.slice(0, (stderr.columns || 80) - 1)
    stderr.write(`\r\u001b[K${style(line, 'dim')}`)
    isShown = true
  }
  let interval: NodeJS.Timeout | undefined
  const first = setTimeout(() => {
    show()
    if (stderr.isTTY) interval = setInterval(show, typeof text === 'string' ? 1_000 : 200).unref()
  }, progressDelay).unref()
  return {
    clear,
    end() {
      clearTimeout(first)
      clearInterval(interval)
      clear()
    },
  }
}
