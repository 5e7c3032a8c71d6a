import { describe, expect, it } from 'vitest'
import { createLogger, type LogOutput, logLevelOf } from './logger.ts'

const escapeCharacter = '\u001b'

/** An output that keeps what is written. */
function createOutput(members: Partial<LogOutput> = {}) {
  const texts: string[] = []
  const output = { write: (text: string) => void texts.push(text), ...members }
  const written = async () => {
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    return texts.join('')
  }
  return { texts, output, written }
}

describe('createLogger', () => {
  it('lines are JSON objects with time, level, message and fields', async () => {
    const { output, written } = createOutput()
    const logger = createLogger({ level: 'info', output })
    logger.info({ taskId: 't1', level: 'forged', time: 1 }, 'turn ended')
    logger.debug({}, 'left out')
    const lines = (await written()).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { time: expect.stringMatching(/^\d{4}-.*Z$/), level: 'info', message: 'turn ended', taskId: 't1' },
    ])
  })

  it('lines of one turn of the event loop are written together, and an error is written at once', async () => {
    const { texts, output, written } = createOutput()
    const logger = createLogger({ level: 'info', output })
    logger.info({}, 'one')
    logger.info({}, 'two')
    expect(texts).toHaveLength(0)
    await written()
    expect(texts).toHaveLength(1)
    logger.info({}, 'three')
    logger.error({}, 'four')
    expect(texts).toHaveLength(2)
    expect(texts[1]).toMatch(/three.*\n.*four/)
  })

  it('an error is written with its cause and without credentials', async () => {
    const { output, written } = createOutput()
    const cause = Object.assign(
      new Error('https://me:hunter2@example.com/v1?api_key=hunter3 refused Bearer abc123.def'),
      {
        statusCode: 401,
        requestBodyValues: { prompt: 'what callers sent' },
      },
    )
    createLogger({ level: 'info', output }).error({ error: new TypeError('the model failed', { cause }) }, 'failed')
    const line = await written()
    expect(JSON.parse(line)).toMatchObject({
      error: { name: 'TypeError', message: 'the model failed', cause: { status: 401 } },
    })
    expect(line).toContain('https://***@example.com/v1?api_key=*** refused Bearer ***')
    expect(line).not.toMatch(/hunter|abc123|what callers sent/)
  })

  it('a field that is not JSON costs neither the line nor the process', async () => {
    const { output, written } = createOutput()
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    createLogger({ level: 'info', output }).warn({ cycle }, 'odd')
    expect(JSON.parse(await written())).toMatchObject({ message: 'odd', unreadable: expect.any(String) })
  })

  it('in a terminal, lines are text, and control characters forge no line', async () => {
    const { output, written } = createOutput({ isTTY: true })
    const logger = createLogger({ level: 'info', output })
    logger.warn({ agent: 'Echo', reason: 'two words\n00:00 forged \u009b31m' }, 'a "message"\nforged')
    logger.error({ error: new RangeError('too much') }, 'the agent failed')
    const text = (await written()).replaceAll(new RegExp(`${escapeCharacter}\\[\\d+m`, 'g'), '')
    const [first = '', second, third] = text.split('\n')
    expect(first).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} warn {2}a "message"\\nforged agent=Echo reason="two words\\n00:00 forged .31m"$/,
    )
    expect(second).toMatch(/error the agent failed$/)
    expect(third).toBe('    RangeError: too much')
  })

  it('lines are dropped and counted while the output is too slow', async () => {
    let writableLength = 5 * 2 ** 20
    const { output, written } = createOutput()
    Object.defineProperty(output, 'writableLength', { get: () => writableLength })
    const logger = createLogger({ level: 'info', output })
    logger.info({}, 'lost')
    logger.error({}, 'kept')
    writableLength = 0
    logger.info({}, 'kept too')
    const lines = (await written()).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: 'kept' },
      { message: expect.stringContaining('dropped'), dropped: 1 },
      { message: 'kept too' },
    ])
  })
})

describe('PARLEY_LOG_LEVEL', () => {
  it.each([
    [undefined, 'info'],
    ['', 'info'],
    ['DEBUG', 'debug'],
    ['silent', 'silent'],
  ])('%j means %s', (value, level) => {
    expect(logLevelOf({ PARLEY_LOG_LEVEL: value })).toBe(level)
  })

  it('a wrong level is refused by the name of the variable', () => {
    expect(() => logLevelOf({ PARLEY_LOG_LEVEL: 'warning' })).toThrow(
      'The environment variable PARLEY_LOG_LEVEL: expected one of "debug", "info", "warn", "error", "silent", got "warning".',
    )
  })
})
