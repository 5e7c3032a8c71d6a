import type { Logger } from '../../src/core/base/logger.ts'

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Records log lines in the style of pino: fields first, then the message. */
export function createRecordingLogger() {
  const lines: LogLine[] = []
  const record = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...fields } })
  const logger: Logger = { debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') }
  return { lines, logger }
}
