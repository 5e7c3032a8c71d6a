import { describeError, type ErrorDescription } from '../base/error-summary.ts'
import { type Logger, type LogLevel, logLevels } from '../base/logger.ts'
import { checkOptions, having, oneOf } from '../base/options.ts'

/** The length of the text that is collected before it is written, in characters. */
const maxCollected = 64 * 1024

/** Unwritten bytes of the output beyond which lines of `debug` and `info` are dropped. */
const maxUnwritten = 4 * 2 ** 20

/** Options of `createLogger`. */
export interface LoggerOptions {
  /** The lowest level that is written. Defaults to the environment variable `PARLEY_LOG_LEVEL`, or to `info`. */
  readonly level?: LogLevel | 'silent'
  /** `pretty` for people, `json` for programs: one object per line. Defaults to `pretty` in a terminal. */
  readonly format?: 'json' | 'pretty'
  /** Where lines are written. Defaults to the standard error output. */
  readonly output?: LogOutput
}

/** The part of a writable stream that a logger uses. */
export interface LogOutput {
  write(text: string): unknown
  readonly isTTY?: boolean
  /** The bytes that wait to be written. */
  readonly writableLength?: number
}

/**
 * Creates the logger that `serve` uses by default: lines for people in a terminal, JSON elsewhere. Lines of `debug` and
 * `info` are collected and written together once per turn of the event loop; warnings and errors are written at once.
 *
 * @example createHandler(echo, { auth: 'none', logger: createLogger({ level: 'debug' }) })
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  checkOptions('createLogger', options, {
    level: oneOf(...logLevels, 'silent'),
    format: oneOf('json', 'pretty'),
    output: having('a writable stream', 'write'),
  })
  const { level = logLevelOf(process.env), output = process.stderr } = options
  const { format = output.isTTY ? 'pretty' : 'json' } = options
  const threshold = level === 'silent' ? logLevels.length : logLevels.indexOf(level)
  const hasColors = output.isTTY === true && !process.env.NO_COLOR
  const formatLine = format === 'json' ? toJson : (line: LogLine) => toPretty(line, hasColors)
  const lines = collectorOf(output)

  function writerOf(lineLevel: LogLevel): Logger['info'] {
    if (logLevels.indexOf(lineLevel) < threshold) return () => {}
    const isUrgent = lineLevel === 'warn' || lineLevel === 'error'
    return (fields, message) => {
      if (!isUrgent && lines.isFull()) return lines.drop()
      const dropped = lines.takeDropped()
      if (dropped > 0) {
        const message = 'log lines were dropped because the output is too slow'
        lines.add(formatLine({ time: Date.now(), level: 'warn', message, fields: { dropped } }))
      }
      lines.add(formatLine({ time: Date.now(), level: lineLevel, message, fields }))
      if (isUrgent) lines.flush()
    }
  }

  return {
    debug: writerOf('debug'),
    info: writerOf('info'),
    warn: writerOf('warn'),
    error: writerOf('error'),
    isLevelEnabled: (lineLevel) => logLevels.indexOf(lineLevel) >= threshold,
  }
}

/** Reads `PARLEY_LOG_LEVEL`. */
export function logLevelOf(environment: Readonly<Record<string, string | undefined>>): LogLevel | 'silent' {
  const { PARLEY_LOG_LEVEL: value } = environment
  if (value === undefined || value === '') return 'info'
  const level = value.toLowerCase() as LogLevel
  oneOf(...logLevels, 'silent')(level, 'The environment variable PARLEY_LOG_LEVEL')
  return level
}

interface LogLine {
  /** In milliseconds since 1970. */
  readonly time: number
  readonly level: LogLevel
  readonly message: string
  readonly fields: object
}

/** Collects lines, and writes them together. */
interface Collector {
  add(line: string): void
  flush(): void
  /** Whether the output is slower than the lines that come in. */
  isFull(): boolean
  drop(): void
  /** The number of dropped lines, once there is room to report them. */
  takeDropped(): number
}

/** Loggers of one output share a collector, so that their lines keep their order. */
const collectors = new WeakMap<LogOutput, Collector>()

function collectorOf(output: LogOutput): Collector {
  const collector = collectors.get(output) ?? createCollector(output)
  collectors.set(output, collector)
  return collector
}

function createCollector(output: LogOutput): Collector {
  let collected = ''
  let dropped = 0
  let isListening = false
  let isScheduled = false
  const isFull = () => (output.writableLength ?? 0) > maxUnwritten

  function flush(): void {
    isScheduled = false
    if (collected === '') return
    const text = collected
    collected = ''
    output.write(text)
  }

  return {
    flush,
    isFull,
    drop: () => void dropped++,
    takeDropped() {
      if (dropped === 0 || isFull()) return 0
      const count = dropped
      dropped = 0
      return count
    },
    add(line: string) {
      collected += line
      if (collected.length > maxCollected) return flush()
      if (isScheduled) return
      isScheduled = true
      setImmediate(flush)
      // A process that calls process.exit() must not lose its last lines.
      if (!isListening) process.on('exit', flush)
      isListening = true
    },
  }
}

function toJson({ time, level, message, fields }: LogLine): string {
  const head = `{"time":"${isoTime(time)}","level":"${level}","message":${JSON.stringify(message)}`
  const body = toMembers(fields)
  return body === '' ? `${head}}\n` : `${head},${body}}\n`
}

/** The fields as JSON without braces. A line has each name once, so fields with the names of its head are left out. */
function toMembers(fields: object): string {
  const hasHeadName = 'time' in fields || 'level' in fields || 'message' in fields
  const own = hasHeadName ? { ...fields, time: undefined, level: undefined, message: undefined } : fields
  try {
    return JSON.stringify(withPlainErrors(own)).slice(1, -1)
  } catch (error) {
    // A field that is not JSON, such as a cycle or a BigInt, must not cost the line.
    return `"unreadable":${JSON.stringify(describeError(error).message)}`
  }
}

/** The last time as text: many lines are written within a millisecond. */
let lastTime = { at: 0, text: '' }

function isoTime(time: number): string {
  if (lastTime.at !== time) lastTime = { at: time, text: new Date(time).toISOString() }
  return lastTime.text
}

/** JSON has no members of an error. */
function withPlainErrors(fields: object): object {
  for (const value of Object.values(fields)) {
    if (!(value instanceof Error)) continue
    const plain = Object.entries(fields).map(([name, each]) => [
      name,
      each instanceof Error ? describeError(each) : each,
    ])
    return Object.fromEntries(plain)
  }
  return fields
}

const colors: Readonly<Record<LogLevel, number>> = { debug: 90, info: 36, warn: 33, error: 31 }

/** One line, and below it the stack trace of an error. */
function toPretty({ time, level, message, fields }: LogLine, hasColors: boolean): string {
  const paint = (text: string, color: number) => (hasColors ? `\u001b[${color}m${text}\u001b[0m` : text)
  const { error, ...others } = withPlainErrors(fields) as { readonly error?: unknown }
  const members = Object.entries(others).map(([name, value]) => ` ${paint(`${name}=`, 90)}${inOneLine(value)}`)
  const start = `${paint(localTime(new Date(time)), 90)} ${paint(level.padEnd(5), colors[level])} ${inOneLine(message, true)}`
  return `${start}${members.join('')}\n${error === undefined ? '' : errorLines(error)}`
}

function localTime(time: Date): string {
  const [hours, minutes, seconds] = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) =>
    `${part}`.padStart(2, '0'),
  )
  return `${hours}:${minutes}:${seconds}.${`${time.getMilliseconds()}`.padStart(3, '0')}`
}

/** Control characters could forge lines or move the cursor. */
function inOneLine(value: unknown, isSentence = false): string {
  if (typeof value === 'string' && /^[\w./:@~+-]+$/.test(value)) return value
  const json = toText(value).replace(/[\u007f-\u009f\u2028\u2029]/g, '\ufffd')
  return isSentence ? json.slice(1, -1).replaceAll('\\"', '"') : json
}

function toText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return JSON.stringify(String(value))
  }
}

function errorLines(error: unknown): string {
  const isDescribed = typeof error === 'object' && error !== null && 'name' in error
  if (!isDescribed) return `    ${inOneLine(error)}\n`
  const lines: string[] = []
  for (let cause = error as Partial<ErrorDescription> | undefined; cause; cause = cause.cause) {
    const { name, message, stack, code } = cause
    const title = `${lines.length > 0 ? 'caused by ' : ''}${name}${code === undefined ? '' : ` [${code}]`}`
    lines.push(inOneLine(message === undefined ? title : `${title}: ${message}`, true))
    const frames = (stack ?? '').split('\n').filter((frame) => /^\s+at /.test(frame))
    lines.push(...frames.map((frame) => `    ${inOneLine(frame.trim(), true)}`))
  }
  return lines.map((line) => `    ${line}\n`).join('')
}
